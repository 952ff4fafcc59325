/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every BPF map that more than one file knows, defined once: a program, or a header that it includes, names those that
 * it uses by MRC_USES(). The loader creates a map that several objects name once and hands it to all of them
 * (bpf_map__reuse_fd). Layouts: include/mrc/abi/maps.h and switch_maps.h.
 */
#ifndef MRC_BPF_MAPS_H
#define MRC_BPF_MAPS_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "mrc/abi/maps.h"
#include "mrc/abi/switch_maps.h"

/* C allows a tentative definition any number of times, so two headers may use the same map. */
#define MRC_USES(name) struct name##_map name SEC(".maps")

#define MRC_MAP(name, map_type, key_type, value_type, entries, flags)                                                  \
    struct name##_map {                                                                                                \
        __uint(type, map_type);                                                                                        \
        __uint(max_entries, entries);                                                                                  \
        __uint(map_flags, flags);                                                                                      \
        __type(key, key_type);                                                                                         \
        __type(value, value_type);                                                                                     \
    }

/* Rows that the agent reads and writes through a mapping: only plain arrays can be mmapped. */
#define MRC_ROWS(name, row_type, rows) MRC_MAP(name, BPF_MAP_TYPE_ARRAY, __u32, row_type, rows, BPF_F_MMAPABLE)
#define MRC_PER_CPU(name, row_type, rows) MRC_MAP(name, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, row_type, rows, 0)
#define MRC_DEVICES(name, rows) MRC_MAP(name, BPF_MAP_TYPE_DEVMAP, __u32, __u32, rows, 0)

/* All programs. The kernel accepts only an integer as the BTF key of an array, so the key is no enum mrc_verdict. */
MRC_PER_CPU(verdicts, __u64, MRC_VERDICT_COUNT);

/* host_rx, host_push, host_tx */
MRC_ROWS(host, struct mrc_host_row, 1);
MRC_ROWS(ports, struct mrc_port_row, MRC_MAX_PORTS);
MRC_ROWS(next_hops, struct mrc_next_hop_row, MRC_MAX_NEXT_HOPS);
MRC_ROWS(paths, struct mrc_path_row,
         MRC_USUAL_PATHS); /* this and the next: resized by the agent, as `peers` and `paths_in_use` */
MRC_ROWS(signals, struct mrc_signal_row, MRC_USUAL_PATHS);
MRC_ROWS(qps, struct mrc_qp_row, MRC_MAX_QPS);
MRC_MAP(clients, BPF_MAP_TYPE_HASH, __u32, struct mrc_client_row, MRC_MAX_CLIENTS, BPF_F_NO_PREALLOC);
MRC_ROWS(workers, struct mrc_worker_row, MRC_MAX_WORKERS);
MRC_MAP(qps_in_use, BPF_MAP_TYPE_HASH, __u32, struct mrc_qp_in_use, MRC_MAX_QPS, BPF_F_NO_PREALLOC);
MRC_MAP(paths_in_use, BPF_MAP_TYPE_HASH, __u32, struct mrc_paths_in_use, MRC_USUAL_PATHS, BPF_F_NO_PREALLOC);
MRC_ROWS(events, struct mrc_event_row, (MRC_EVENT_CLASSES * MRC_EVENT_ROWS));
MRC_ROWS(drops, struct mrc_drop_row, MRC_DROP_ROWS);
MRC_ROWS(loops, struct mrc_loop_row, 1); /* this and the next: resized by the agent, too */
MRC_ROWS(loop_arrivals, struct mrc_loop_arrival, MRC_LOOP_SLOTS);
MRC_ROWS(fabric_faults, struct mrc_fault_row, MRC_MAX_FAULTS);
MRC_ROWS(overlay, struct mrc_overlay_row, MRC_MAX_GROUPS);
MRC_ROWS(push_slots, struct mrc_push_slot, MRC_PUSH_SLOTS); /* this and the next: for one worker, likewise */
MRC_ROWS(push_ring, struct mrc_push_ring, 1);
MRC_ROWS(capture_slots, struct mrc_capture_slot, MRC_CAPTURE_SLOTS);
MRC_ROWS(capture_ring, struct mrc_capture_ring, 1);
MRC_ROWS(trace_rows, struct mrc_trace_row, MRC_TRACE_ROWS);
MRC_ROWS(trace_ring, struct mrc_trace_ring, 1);
MRC_MAP(peers, BPF_MAP_TYPE_HASH, struct mrc_ip, struct mrc_peer_row, (MRC_USUAL_PEERS * MRC_RX_ADDRESSES),
        BPF_F_NO_PREALLOC);
MRC_MAP(xsks, BPF_MAP_TYPE_XSKMAP, __u32, __u32, MRC_SOCKET_ROW(MRC_MAX_PORTS, 0, 0), 0);
MRC_DEVICES(tx_ports, MRC_MAX_PORTS);

/* host_sockets. The kernel sizes the storage of cgroups and of sockets itself. */
MRC_MAP(ordinary, BPF_MAP_TYPE_HASH, struct mrc_ip, struct mrc_ordinary_row, MRC_MAX_ORDINARY, 0);
MRC_MAP(ordinary_of, BPF_MAP_TYPE_HASH, struct mrc_ip, struct mrc_ip, MRC_MAX_ORDINARY, 0);
MRC_MAP(adopted, BPF_MAP_TYPE_CGROUP_STORAGE, __u64, struct mrc_adopted_row, 0, 0);
MRC_MAP(socket_notes, BPF_MAP_TYPE_SK_STORAGE, int, struct mrc_socket_note, 0, (BPF_F_NO_PREALLOC | BPF_F_CLONE));

/* switch */
MRC_MAP(sw_info, BPF_MAP_TYPE_ARRAY, __u32, struct mrc_sw_info, 1, 0);
MRC_MAP(sw_ports, BPF_MAP_TYPE_ARRAY, __u32, struct mrc_sw_port_row, MRC_SW_MAX_PORTS, 0);
MRC_MAP(sw_impair, BPF_MAP_TYPE_ARRAY, __u32, struct mrc_sw_impair_row, MRC_SW_MAX_PORTS, 0);
MRC_MAP(sw_queues, BPF_MAP_TYPE_ARRAY, __u32, struct mrc_sw_queue_row, MRC_SW_MAX_PORTS, 0);
MRC_MAP(sw_routes, BPF_MAP_TYPE_HASH, __u32, struct mrc_sw_route_row, MRC_SW_MAX_ROUTES, BPF_F_NO_PREALLOC);
MRC_MAP(sw_switches, BPF_MAP_TYPE_PROG_ARRAY, __u32, __u32, MRC_SW_MAX_IFINDEX, 0); /* ifindex -> program */
MRC_DEVICES(sw_tx, MRC_SW_MAX_PORTS);

/*
 * The only way to send a frame twice from XDP is a broadcast over a devmap: here a devmap per port that names the
 * port's device in both of its slots. The kernel clones for the first and sends the original for the second.
 */
MRC_DEVICES(sw_pair, 2);
struct sw_twice_map {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, MRC_SW_MAX_PORTS);
    __type(key, __u32);
    __array(values, struct sw_pair_map);
};

/* Rows that several queues or programs write. */
static __always_inline void add(__u64 *counter, __u64 count)
{
    __sync_fetch_and_add(counter, count);
}

#endif
