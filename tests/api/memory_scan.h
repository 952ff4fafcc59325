/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for what a peer has written in all memory that this process may write. */
#ifndef MRC_TESTS_MEMORY_SCAN_H
#define MRC_TESTS_MEMORY_SCAN_H

#include <stddef.h>
#include <stdint.h>

enum {
    peer_byte = 0xD7,
    own_byte = 0x11,
    telling_run = 32, /* of peer_byte, one after the other */
    victim_bytes = 64 << 10,
};
#define VICTIM_ADDRESS 0x20000000000ULL /* of the victim's region, in whatever program the process is */

/* A page range at VICTIM_ADDRESS, filled with own_byte. */
unsigned char *victim_memory(void);

/* What the program that was executed says of itself. */
struct confession {
    uint32_t user;
    uint32_t effective_user;
    uint64_t runs;    /* of at least telling_run peer bytes */
    uint64_t scanned; /* bytes */
    uint64_t changed; /* bytes of victim_memory() that are not own_byte */
};

struct confession scan_own_memory(void);

#endif
