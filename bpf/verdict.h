/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a program decides: each step returns MRC_GO_ON or the verdict that ends it, MRC_STEP() hands a verdict up, and
 * the entry function counts the one that arrives there and turns it into the hook's action. `mrcctl counters` prints
 * the names.
 */
#ifndef MRC_BPF_VERDICT_H
#define MRC_BPF_VERDICT_H

#include "maps.h"

MRC_USES(verdicts);

/* A step that has nothing to refuse returns this instead of a verdict. */
#define MRC_GO_ON MRC_VERDICT_COUNT

#define MRC_STEP(step)                                                                                                 \
    do {                                                                                                               \
        const enum mrc_verdict ended_ = (step);                                                                        \
                                                                                                                       \
        if (ended_ != MRC_GO_ON)                                                                                       \
            return ended_;                                                                                             \
    } while (0)

/* Per CPU, so a plain increment is enough: XDP and TC programs run with softirqs off and are not re-entered. */
static __always_inline void count_verdict(enum mrc_verdict verdict)
{
    const __u32 row = verdict;
    __u64 *count = bpf_map_lookup_elem(&verdicts, &row);

    if (count)
        (*count)++;
}

static __always_inline int xdp_action(enum mrc_verdict verdict)
{
    switch (verdict) {
    case MRC_RX_STEERED:
    case MRC_PUSH_SENT:
    case MRC_SW_FORWARDED:
        return XDP_REDIRECT;
    case MRC_RX_REFLECTED:
        return XDP_TX;
    case MRC_RX_PASS_NOT_OURS:
    case MRC_RX_PASS_POPPED:
    case MRC_RX_PASS_MALFORMED:
    case MRC_SW_PASS_NOT_USID:
    case MRC_SW_PASS_KERNEL:
        return XDP_PASS;
    default:
        return XDP_DROP;
    }
}

#endif
