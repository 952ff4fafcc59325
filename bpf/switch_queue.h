/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The virtual queue of an egress port: a byte count that grows with each packet and drains at the configured rate. It
 * decides what a real queue of that rate would do (mark, trim, drop), and never delays.
 *
 * Two classes: control and trimmed packets are drained first and neither marked nor trimmed; all other packets share
 * the second class. Thresholds as protocol.md §5.5 and §6; they are bytes in the port's sw_impair row.
 */
#ifndef MRC_BPF_SWITCH_QUEUE_H
#define MRC_BPF_SWITCH_QUEUE_H

#include <stdbool.h>

#include "maps.h"

MRC_USES(sw_queues);

#define SW_NS_PER_SECOND 1000000000ull

enum sw_queue_action {
    SW_QUEUE_ADMIT,
    SW_QUEUE_MARK,
    SW_QUEUE_TRIM,
    SW_QUEUE_DROP,
    SW_QUEUE_DROP_PRIORITY,
};

struct sw_arrival {
    __u64 now_ns;
    __u32 bytes;      /* of the frame */
    __u32 trim_bytes; /* of the frame if it were trimmed; 0: cannot be trimmed any further */
    __u32 random;     /* only what is markable has one */
    bool priority;    /* control, or trimmed upstream */
    bool trimmable;   /* by DSCP */
    bool markable;    /* ECT, and the port marks at all */
};

static __always_inline __u64 sw_scaled(__u32 bytes)
{
    return (__u64)bytes << MRC_SW_RATE_SHIFT;
}

/* Priority first, the rest of the time serves the others. A clock read on another CPU may be a little behind. */
static __always_inline void sw_queue_drain(struct mrc_sw_queue_row *queue, __u64 rate, __u64 now_ns)
{
    __u64 elapsed = now_ns - queue->updated_ns;
    __u64 credit;

    if ((__s64)elapsed <= 0)
        return;
    if (elapsed > SW_NS_PER_SECOND)
        elapsed = SW_NS_PER_SECOND;
    queue->updated_ns = now_ns;
    credit = elapsed * rate;
    if (credit < queue->priority_backlog) {
        queue->priority_backlog -= credit;
        return;
    }
    credit -= queue->priority_backlog;
    queue->priority_backlog = 0;
    queue->backlog = credit < queue->backlog ? queue->backlog - credit : 0;
}

/* Random early detection: never up to min, always from max on, linear in between. */
static __always_inline bool sw_red_hit(__u64 backlog_bytes, const struct mrc_sw_impair_row *link, __u32 random)
{
    const __u32 min = link->ecn_min_bytes;
    const __u32 max = link->ecn_max_bytes;

    if (backlog_bytes <= min)
        return false;
    if (backlog_bytes >= max)
        return true;
    return (__u64)random * (max - min) < (backlog_bytes - min) << 32;
}

static __always_inline bool sw_priority_enqueue(struct mrc_sw_queue_row *queue, __u32 bytes, __u32 limit_bytes)
{
    const __u64 backlog = queue->priority_backlog + sw_scaled(bytes);

    if (backlog > sw_scaled(limit_bytes))
        return false;
    queue->priority_backlog = backlog;
    if (backlog >> MRC_SW_RATE_SHIFT > queue->priority_peak_bytes)
        queue->priority_peak_bytes = backlog >> MRC_SW_RATE_SHIFT;
    return true;
}

static __always_inline enum sw_queue_action
sw_queue_admit(struct mrc_sw_queue_row *queue, const struct mrc_sw_impair_row *link, const struct sw_arrival *arrival)
{
    const __u64 backlog = queue->backlog + sw_scaled(arrival->bytes);

    if (arrival->priority)
        return sw_priority_enqueue(queue, arrival->bytes, link->priority_bytes) ? SW_QUEUE_ADMIT
                                                                                : SW_QUEUE_DROP_PRIORITY;
    if ((link->flags & MRC_SW_TRIM) && arrival->trimmable && backlog > sw_scaled(link->trim_bytes)) {
        if (!arrival->trim_bytes)
            return SW_QUEUE_DROP;
        return sw_priority_enqueue(queue, arrival->trim_bytes, link->priority_bytes) ? SW_QUEUE_TRIM
                                                                                     : SW_QUEUE_DROP_PRIORITY;
    }
    if (backlog > sw_scaled(link->drop_bytes))
        return SW_QUEUE_DROP;
    queue->backlog = backlog;
    if (backlog >> MRC_SW_RATE_SHIFT > queue->peak_bytes)
        queue->peak_bytes = backlog >> MRC_SW_RATE_SHIFT;
    if (arrival->markable && sw_red_hit(backlog >> MRC_SW_RATE_SHIFT, link, arrival->random))
        return SW_QUEUE_MARK;
    return SW_QUEUE_ADMIT;
}

static __always_inline enum sw_queue_action sw_queue_pass(__u32 port, const struct mrc_sw_impair_row *link,
                                                          const struct sw_arrival *arrival)
{
    struct mrc_sw_queue_row *queue = bpf_map_lookup_elem(&sw_queues, &port);
    const __u64 rate = link->rate;
    enum sw_queue_action action;

    if (!queue)
        return SW_QUEUE_ADMIT;
    bpf_spin_lock(&queue->lock);
    sw_queue_drain(queue, rate, arrival->now_ns);
    action = sw_queue_admit(queue, link, arrival);
    bpf_spin_unlock(&queue->lock);
    return action;
}

#endif
