/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The path that an EV names, toward or from a peer. */
#ifndef MRC_BPF_PATH_ROW_H
#define MRC_BPF_PATH_ROW_H

#include "maps.h"

MRC_USES(paths);

/*
 * Its row of `paths` and `signals`; 0 (unknown) when the EV is out of range, or of an uplink that has no row toward
 * this peer: another that would have the same row does.
 */
static __always_inline __u32 path_row(const struct mrc_peer_row *peer, __u32 ev)
{
    const __u32 plane = mrc_ev_plane(ev);
    const __u32 uplink = mrc_ev_uplink(ev);
    const __u32 at = peer->chosen ? uplink & (peer->uplinks - 1) : uplink;
    const struct mrc_path_row *path;

    if (plane >= peer->planes || at >= peer->uplinks)
        return 0;
    const __u32 row = peer->group_base + plane * peer->uplinks + at;
    if (!peer->chosen)
        return row;
    path = bpf_map_lookup_elem(&paths, &row);
    return path && path->uplink == uplink ? row : 0;
}

#endif
