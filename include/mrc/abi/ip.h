/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause OR Apache-2.0 */
/* An address as maps, sessions and the library write it: one shape for both families. */
#ifndef MRC_IP_H
#define MRC_IP_H

#include <linux/types.h>

struct mrc_ip {
    __u8 bytes[16]; /* IPv6, or IPv4 as ::ffff:a.b.c.d */
};

#endif
