/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Included in front of a program: the helpers that it calls for a packet, and locked adds, are counted where they are
 * executed, in the program that the kernel runs.
 */
#ifndef MRC_TESTS_BPF_COUNT_H
#define MRC_TESTS_BPF_COUNT_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "counts.h"

struct mrc_counts counted = {};

static __always_inline void count_look_up(unsigned int map_type)
{
    if (map_type == BPF_MAP_TYPE_PERCPU_ARRAY)
        counted.per_cpu_look_ups++;
    else if (map_type == BPF_MAP_TYPE_HASH)
        counted.hash_look_ups++;
    else
        counted.array_look_ups++;
}

#define MRC_COUNTED(what, call) (counted.what++, (call))

#define bpf_map_lookup_elem(map, key) (count_look_up(sizeof(*(map)->type) / sizeof(int)), bpf_map_lookup_elem(map, key))
#define __sync_fetch_and_add(at, count) MRC_COUNTED(locked_adds, __sync_fetch_and_add(at, count))
#define bpf_get_prandom_u32() MRC_COUNTED(random_numbers, bpf_get_prandom_u32())
#define bpf_ktime_get_ns() MRC_COUNTED(clock_reads, bpf_ktime_get_ns())
#define bpf_get_hash_recalc(ctx) MRC_COUNTED(other_calls, bpf_get_hash_recalc(ctx))
#define bpf_redirect(ifindex, flags) MRC_COUNTED(other_calls, bpf_redirect(ifindex, flags))
#define bpf_redirect_map(map, key, flags) MRC_COUNTED(other_calls, bpf_redirect_map(map, key, flags))
#define bpf_skb_adjust_room(ctx, bytes, mode, flags)                                                                   \
    MRC_COUNTED(other_calls, bpf_skb_adjust_room(ctx, bytes, mode, flags))
#define bpf_skb_load_bytes(ctx, at, to, bytes) MRC_COUNTED(other_calls, bpf_skb_load_bytes(ctx, at, to, bytes))
#define bpf_skb_pull_data(ctx, bytes) MRC_COUNTED(other_calls, bpf_skb_pull_data(ctx, bytes))
#define bpf_skb_store_bytes(ctx, at, from, bytes, flags)                                                               \
    MRC_COUNTED(other_calls, bpf_skb_store_bytes(ctx, at, from, bytes, flags))
#define bpf_spin_lock(lock) MRC_COUNTED(other_calls, bpf_spin_lock(lock))
#define bpf_spin_unlock(lock) MRC_COUNTED(other_calls, bpf_spin_unlock(lock))
#define bpf_xdp_adjust_head(ctx, bytes) MRC_COUNTED(other_calls, bpf_xdp_adjust_head(ctx, bytes))
#define bpf_xdp_adjust_tail(ctx, bytes) MRC_COUNTED(other_calls, bpf_xdp_adjust_tail(ctx, bytes))
#define bpf_xdp_get_buff_len(ctx) MRC_COUNTED(other_calls, bpf_xdp_get_buff_len(ctx))
#define bpf_xdp_load_bytes(ctx, at, to, bytes) MRC_COUNTED(other_calls, bpf_xdp_load_bytes(ctx, at, to, bytes))
#define bpf_xdp_store_bytes(ctx, at, from, bytes) MRC_COUNTED(other_calls, bpf_xdp_store_bytes(ctx, at, from, bytes))

#endif
