/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Impairments of a lab link: blackhole, random loss, one flipped bit. (Duplication is a way to send: switch.bpf.c.) */
#ifndef MRC_BPF_SWITCH_IMPAIR_H
#define MRC_BPF_SWITCH_IMPAIR_H

#include "verdict.h"

static __always_inline bool sw_hit(__u32 probability)
{
    if (probability == 0)
        return false;
    return probability == MRC_SW_ALWAYS || bpf_get_prandom_u32() < probability;
}

/* A packet lost here takes no room in the virtual queue. */
static __always_inline enum mrc_verdict sw_impair_lose(const struct mrc_sw_impair_row *link)
{
    if (link->flags & MRC_SW_BLACKHOLE)
        return MRC_SW_IMPAIR_BLACKHOLE;
    if (sw_hit(link->loss))
        return MRC_SW_IMPAIR_LOSS;
    return MRC_GO_ON;
}

/*
 * Flips one random bit behind the outer header: a flip in the outer header would be a lost or misrouted packet, which
 * `loss` makes; this one has to reach the receiver, whose ICRC must catch it.
 */
static __always_inline void sw_impair_corrupt(struct xdp_md *ctx, __u32 frame_bytes)
{
    const __u32 random = bpf_get_prandom_u32();
    __u32 offset;
    __u8 byte;

    if (frame_bytes <= MRC_OUTER_BYTES)
        return;
    offset = MRC_OUTER_BYTES + (random >> 3) % (frame_bytes - MRC_OUTER_BYTES);
    if (bpf_xdp_load_bytes(ctx, offset, &byte, sizeof(byte)))
        return;
    byte ^= 1u << (random & 7);
    if (bpf_xdp_store_bytes(ctx, offset, &byte, sizeof(byte)))
        return;
    count_verdict(MRC_SW_IMPAIR_CORRUPT);
}

#endif
