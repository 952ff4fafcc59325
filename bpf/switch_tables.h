/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The maps of the lab switch. Layouts: include/mrc/abi/switch_maps.h. */
#ifndef MRC_BPF_SWITCH_TABLES_H
#define MRC_BPF_SWITCH_TABLES_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "mrc/abi/maps.h"
#include "mrc/abi/switch_maps.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct mrc_sw_info);
} sw_info SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MRC_SW_MAX_PORTS);
    __type(key, __u32);
    __type(value, struct mrc_sw_port_row);
} sw_ports SEC(".maps");

/* Interface index -> row of sw_ports. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MRC_SW_MAX_PORTS);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32);
    __type(value, __u32);
} sw_devices SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MRC_SW_MAX_ROUTES);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32);
    __type(value, struct mrc_sw_route_row);
} sw_routes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MRC_SW_MAX_PORTS);
    __type(key, __u32);
    __type(value, struct mrc_sw_impair_row);
} sw_impair SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MRC_SW_MAX_PORTS);
    __type(key, __u32);
    __type(value, struct mrc_sw_queue_row);
} sw_queues SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, MRC_VERDICT_COUNT);
    __type(key, __u32);
    __type(value, __u64);
} verdicts SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_DEVMAP);
    __uint(max_entries, MRC_SW_MAX_PORTS);
    __type(key, __u32);
    __type(value, __u32);
} sw_tx SEC(".maps");

/*
 * The only way to send a frame twice from XDP is a broadcast over a devmap: here a devmap per port that names the
 * port's device in both of its slots. The kernel clones for the first and sends the original for the second.
 */
struct sw_pair {
    __uint(type, BPF_MAP_TYPE_DEVMAP);
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, __u32);
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, MRC_SW_MAX_PORTS);
    __type(key, __u32);
    __array(values, struct sw_pair);
} sw_twice SEC(".maps");

#define SW_CONTINUE (-1) /* from a step that has no verdict: the next step decides */

static __always_inline void sw_count(__u32 verdict)
{
    __u64 *counter = bpf_map_lookup_elem(&verdicts, &verdict);

    if (counter)
        (*counter)++;
}

#endif
