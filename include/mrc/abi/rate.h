/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause OR Apache-2.0 */
/* A bound on how many packets pass in a time, the same for BPF programs and the agent. */
#ifndef MRC_RATE_H
#define MRC_RATE_H

#include <linux/types.h>

/*
 * A token bucket in one number (GCRA, ITU-T I.371): when the next packet would come at the rate. Whether this one may
 * pass. Several CPUs at a time may let a packet more pass.
 */
static inline int mrc_within_rate(__u64 *due_ns, __u64 now, __u64 interval_ns, __u64 burst_ns)
{
    __u64 due = *(volatile __u64 *)due_ns;

    if (due < now)
        due = now;
    if (due - now > burst_ns)
        return 0;
    *(volatile __u64 *)due_ns = due + interval_ns;
    return 1;
}

#endif
