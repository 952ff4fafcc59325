/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loops of the fabric map end here: Ethernet | outer IPv6 to our uSID, nothing left behind it | UDP | struct mrc_loop.
 * The arrival is stamped and counted in the row of its way; whoever knows no cookie counts nothing.
 */
#ifndef MRC_BPF_LOOP_H
#define MRC_BPF_LOOP_H

#include "classify.h"
#include "maps.h"

MRC_USES(loops);
MRC_USES(loop_arrivals);

static __always_inline void count_rtt(struct mrc_loop_row *row, __u32 rtt_ns)
{
    __u32 bucket = 0;

    for (__u32 i = 1; i < MRC_RTT_BUCKETS; i++)
        if (rtt_ns >> (MRC_RTT_SHIFT - 1 + i))
            bucket = i;
    add(&row->rtt_log2[bucket & (MRC_RTT_BUCKETS - 1)], 1);
    add(&row->rtt_sum_ns, rtt_ns);
    row->rtt_ns = rtt_ns;
    if (!row->rtt_min_ns || rtt_ns < row->rtt_min_ns)
        row->rtt_min_ns = rtt_ns;
}

/* A second copy of the same loop changes nothing. */
static __always_inline enum mrc_verdict count_loop(const struct mrc_loop *loop)
{
    const __u32 number = loop->number;
    const __u32 of = loop->row;
    const __u32 slot = of * MRC_LOOP_SLOTS + (number & (MRC_LOOP_SLOTS - 1));
    struct mrc_loop_row *row = bpf_map_lookup_elem(&loops, &of);
    struct mrc_loop_arrival *arrival = bpf_map_lookup_elem(&loop_arrivals, &slot);
    const __u64 now = bpf_ktime_get_ns();
    const __u64 passed = now - loop->sent_ns;
    const __u32 rtt_ns = passed > 0xFFFFFFFF ? 0xFFFFFFFF : (__u32)passed;

    if (!row || !arrival || row->plane != config.port || !number)
        return MRC_RX_DROP_LOOP;
    if (arrival->what >> 32 == number)
        return MRC_RX_LOOP;
    arrival->what = (__u64)number << 32 | rtt_ns;
    add(&row->arrived, 1);
    row->last_arrival_ns = now;
    count_rtt(row, rtt_ns);
    return MRC_RX_LOOP;
}

static __always_inline enum mrc_verdict take_loop(struct cursor *cursor)
{
    const struct udphdr *udp = take(cursor, sizeof(*udp));
    const struct mrc_loop *loop = take(cursor, sizeof(*loop));

    if (!udp || !loop || udp->dest != bpf_htons(MRC_LOOP_UDP_PORT))
        return MRC_RX_DROP_INNER;
    return config.loop_cookie && loop->cookie == config.loop_cookie ? count_loop(loop) : MRC_RX_DROP_LOOP;
}

#endif
