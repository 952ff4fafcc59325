/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Declares the shared maps of include/mrc/abi/maps.h. A program declares those it uses; the loader creates each once
 * and hands it to the other objects (bpf_map__reuse_fd).
 */
#ifndef MRC_BPF_ROWS_H
#define MRC_BPF_ROWS_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "mrc/abi/maps.h"

/* Rows that the agent reads and writes through a mapping: only plain arrays can be mmapped. */
#define MRC_ROWS(name, row_type, rows)                                                                                 \
    struct {                                                                                                           \
        __uint(type, BPF_MAP_TYPE_ARRAY);                                                                              \
        __uint(map_flags, BPF_F_MMAPABLE);                                                                             \
        __uint(max_entries, rows);                                                                                     \
        __type(key, __u32);                                                                                            \
        __type(value, row_type);                                                                                       \
    } name SEC(".maps")

#define MRC_PEERS(name)                                                                                                \
    struct {                                                                                                           \
        __uint(type, BPF_MAP_TYPE_HASH);                                                                               \
        __uint(max_entries, MRC_MAX_PEERS);                                                                            \
        __type(key, struct mrc_ip);                                                                                    \
        __type(value, struct mrc_peer_row);                                                                            \
    } name SEC(".maps")

static __always_inline void add(__u64 *counter, __u64 count)
{
    __sync_fetch_and_add(counter, count);
}

/* Row of `paths` and `signals` that an EV names toward or from a peer; 0 (unknown) when the EV is out of range. */
static __always_inline __u32 path_row(const struct mrc_peer_row *peer, __u32 ev)
{
    const __u32 plane = mrc_ev_plane(ev);
    const __u32 uplink = mrc_ev_uplink(ev);

    if (plane >= peer->planes || uplink >= peer->uplinks)
        return 0;
    const __u32 row = peer->group_base + plane * peer->uplinks + uplink;
    return row < MRC_MAX_PATHS ? row : 0;
}

#endif
