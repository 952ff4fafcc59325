/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A usable path to a peer for one packet or flow: GOOD before SKIP, on planes that both ends can use. */
#ifndef MRC_BPF_CHOOSE_PATH_H
#define MRC_BPF_CHOOSE_PATH_H

#include "maps.h"
#include "outer.h"

MRC_USES(host);
MRC_USES(paths);

/* Neighbouring candidates alternate planes, so 64 of them cover 8 uplinks of each of 8 planes. */
#define MRC_TX_SCAN 64

/*
 * The planes of a mask as a list, a nibble each from the lowest on, and above them their number: a candidate's number
 * leads to its plane. A function of its own, so that the verifier does not carry 256 masks through the scan.
 */
#define MRC_PLANES_COUNT_SHIFT 32

__noinline __u64 list_planes(__u32 mask, __u32 planes)
{
    __u64 list = 0;
    __u32 count = 0;

    for (__u32 plane = 0; plane < MRC_MAX_PORTS; plane++) {
        if (plane >= planes || !(mask & 1u << plane))
            continue;
        list |= (__u64)plane << (count * 4);
        count++;
    }
    return list | (__u64)count << MRC_PLANES_COUNT_SHIFT;
}

static __always_inline bool find_way_by(struct way_out *way, __u32 path_row)
{
    struct mrc_path_row *path = bpf_map_lookup_elem(&paths, &path_row);

    return path && (path->state == MRC_PATH_GOOD || path->state == MRC_PATH_KEPT) && find_way_out(way, path);
}

/*
 * The hash picks where the scan starts, so a flow stays on its path as long as that is GOOD, and moves to its
 * neighbour, another plane, when it is not. False: there is none.
 */
static __always_inline bool choose_path(struct way_out *way, const struct mrc_peer_row *peer, __u32 hash)
{
    const __u32 only = 0;
    const struct mrc_host_row *self = bpf_map_lookup_elem(&host, &only);
    const __u64 list = list_planes(self ? self->plane_mask & peer->plane_mask : 0, peer->planes);
    const __u32 planes = (__u32)(list >> MRC_PLANES_COUNT_SHIFT);
    const __u32 candidates = planes * peer->uplinks;
    const __u32 start = (__u32)((__u64)hash * candidates >> 32);
    __u32 second_choice = 0;

    for (__u32 i = 0; i < MRC_TX_SCAN && i < candidates; i++) {
        const __u32 at = (start + i) % candidates;
        const __u32 plane = (__u32)list >> (at % planes * 4) & 7;
        const __u32 row = peer->group_base + plane * peer->uplinks + at / planes;

        if (!find_way_by(way, row))
            continue;
        if (way->path->state == MRC_PATH_GOOD)
            return true;
        if (!second_choice)
            second_choice = row;
    }
    return second_choice && find_way_by(way, second_choice);
}

#endif
