/* SPDX-License-Identifier: Apache-2.0 */
#include "memory_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const unsigned long most_scanned = 1UL << 32; /* of a mapping; a sanitizer's shadow is larger */

unsigned char *victim_memory(void)
{
    void *at = mmap((void *)(uintptr_t)VICTIM_ADDRESS, victim_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (at == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    memset(at, own_byte, victim_bytes);
    return (unsigned char *)at;
}

/* Whatever a sanitizer makes of memory that is not the program's own. */
__attribute__((no_sanitize("address", "thread"))) static uint64_t runs_in(const volatile unsigned char *from,
                                                                          const volatile unsigned char *to)
{
    uint64_t found = 0;
    size_t length = 0;
    for (; from < to; ++from) {
        length = *from == peer_byte ? length + 1 : 0;
        found += length == telling_run;
    }
    return found;
}

struct confession scan_own_memory(void)
{
    struct confession said;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    memset(&said, 0, sizeof(said));
    said.user = getuid();
    said.effective_user = geteuid();
    if (maps == NULL) {
        perror("/proc/self/maps");
        exit(1);
    }
    while (fgets(line, sizeof(line), maps) != NULL) {
        unsigned long from = 0;
        unsigned long to = 0;
        char mode[5] = {0};
        if (sscanf(line, "%lx-%lx %4s", &from, &to, mode) != 3 || mode[0] != 'r' || mode[1] != 'w' ||
            to - from > most_scanned)
            continue;
        said.runs += runs_in((const volatile unsigned char *)from, (const volatile unsigned char *)to);
        said.scanned += to - from;
    }
    (void)fclose(maps);
    for (const unsigned char *at = (const unsigned char *)(uintptr_t)VICTIM_ADDRESS;
         at < (const unsigned char *)(uintptr_t)(VICTIM_ADDRESS + victim_bytes); ++at)
        said.changed += *at != own_byte;
    return said;
}
