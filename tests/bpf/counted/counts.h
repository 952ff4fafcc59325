/* SPDX-License-Identifier: Apache-2.0 */
/* What a counted program does for its packets: layout of `counted` in its .bss, shared with the test. */
#ifndef MRC_TESTS_BPF_COUNTS_H
#define MRC_TESTS_BPF_COUNTS_H

#include <linux/types.h>

struct mrc_counts {
    __u64 array_look_ups;   /* the kernel puts their few instructions in place of the call */
    __u64 per_cpu_look_ups; /* Linux 6.10 and later: likewise */
    __u64 hash_look_ups;
    __u64 locked_adds;
    __u64 random_numbers;
    __u64 clock_reads;
    __u64 other_calls; /* of helpers: redirects, whatever moves or copies a packet, locks */
};

#endif
