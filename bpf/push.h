/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a program does that sends slots of the XDP transmit engine: all but where the inner packet comes from.
 */
#ifndef MRC_BPF_PUSH_H
#define MRC_BPF_PUSH_H

#define MRC_CAPTURE_XDP
#include "capture.h"
#include "drops.h"
#include "maps.h"
#include "outer.h"
#include "parse.h"
#include "verdict.h"

MRC_USES(push_slots);
MRC_USES(push_ring);
MRC_USES(paths);
MRC_USES(tx_ports);

const volatile struct mrc_push_config config = {};

/* Everything that one departure needs, each pointer checked once. */
struct push_departure {
    struct mrc_push_slot *slot;
    struct way_out way;
    __u32 header_bytes; /* in front of the inner packet */
    __u32 length;       /* of the inner packet */
};

/* The kernel drops a redirected frame above the device's MTU without telling anybody, so it is refused here. */
static __always_inline enum mrc_verdict look_up(struct push_departure *departure)
{
    const __u32 path_row = departure->slot->path;
    struct mrc_path_row *path;

    departure->length = *(volatile __u32 *)&departure->slot->length; /* once: the worker can write it */
    if (departure->length < sizeof(struct iphdr) || departure->length > sizeof(departure->slot->inner))
        return MRC_PUSH_BAD_SLOT;
    path = bpf_map_lookup_elem(&paths, &path_row);
    if (!path || path->state == MRC_PATH_UNUSED)
        return MRC_PUSH_BAD_SLOT;
    if (!find_way_out(&departure->way, path))
        return MRC_PUSH_NO_PORT;
    departure->header_bytes = mrc_path_header_bytes(path);
    if (departure->header_bytes - ETH_HLEN + departure->length > departure->way.port->mtu)
        return MRC_PUSH_BAD_SLOT;
    return MRC_GO_ON;
}

/*
 * The frame starts every run short: each call copies the blank into 64 pages before the first run, however few of them
 * it needs. The kernel resets what the last run grew, and clears what this one grows.
 */
static __always_inline enum mrc_verdict fit_frame(struct xdp_md *ctx, __u32 bytes)
{
    const int missing = (int)bytes - (int)(ctx->data_end - ctx->data); /* it has one buffer */

    if (missing != 0 && bpf_xdp_adjust_tail(ctx, missing))
        return MRC_PUSH_STORE;
    return MRC_GO_ON;
}

/* The program's: the inner packet into the frame, behind its headers. */
static __always_inline enum mrc_verdict write_inner(struct xdp_md *ctx, const struct push_departure *departure);

static __always_inline enum mrc_verdict write_frame(struct xdp_md *ctx, const struct push_departure *departure)
{
    const struct mrc_push_slot *slot = departure->slot;
    const struct outer_fields fields = {
        .flow_label = slot->flow_label,
        .payload_length = (__u16)departure->length,
        .host_usid = slot->host_usid,
        .tclass = slot->tclass,
        .hop_limit = slot->hop_limit,
        .next_header = slot->next_header,
    };
    struct cursor cursor = MRC_CURSOR(ctx);

    if (!write_carrier(&cursor, &departure->way, &fields))
        return MRC_PUSH_STORE;
    return write_inner(ctx, departure);
}

/* The frame as it leaves. */
static __always_inline void capture_sent(struct xdp_md *ctx, const struct push_departure *departure)
{
    struct capture_request request = {
        .bth_at = bth_behind(departure->header_bytes, departure->slot->next_header == IPPROTO_IPIP),
        .point = MRC_CAPTURE_PUSHED,
        .port = departure->way.path->port,
    };

    capture(ctx, &request, MRC_PUSH_SENT);
}

static __always_inline enum mrc_verdict send_slot(struct xdp_md *ctx, struct mrc_push_ring *ring,
                                                  struct mrc_push_slot *slot)
{
    struct push_departure departure = {.slot = slot};
    __u32 bytes;

    MRC_STEP(look_up(&departure));
    bytes = departure.header_bytes + departure.length;
    MRC_STEP(fit_frame(ctx, bytes));
    MRC_STEP(write_frame(ctx, &departure));
    if (bpf_redirect_map(&tx_ports, departure.way.path->port, XDP_DROP) != XDP_REDIRECT)
        return MRC_PUSH_NO_PORT;
    ring->last_send_ns = bpf_ktime_get_ns();
    count_sent(&departure.way, 1, bytes, ring->last_send_ns);
    if (is_capturing())
        capture_sent(ctx, &departure);
    return MRC_PUSH_SENT;
}

/* By the port of its path, if there is such a path. */
static __always_inline void note_refused(const struct mrc_push_slot *slot, enum mrc_verdict verdict)
{
    const __u32 path_row = slot->path;
    const struct mrc_path_row *path = bpf_map_lookup_elem(&paths, &path_row);
    struct dropped_packet dropped = {.verdict = verdict, .port = path ? path->port : MRC_DROP_NO_PORT};

    count_drop(&dropped);
}

/* One slot is consumed whatever becomes of it, so that a bad slot cannot stop the ring. */
static __always_inline enum mrc_verdict push(struct xdp_md *ctx)
{
    const __u32 worker = config.worker;
    struct mrc_push_ring *ring = bpf_map_lookup_elem(&push_ring, &worker);
    struct mrc_push_slot *slot;
    enum mrc_verdict verdict;
    __u32 row;

    if (!ring || ring->consumer == *(volatile __u32 *)&ring->producer)
        return MRC_PUSH_EMPTY;
    row = worker * MRC_PUSH_SLOTS + (ring->consumer & (MRC_PUSH_SLOTS - 1));
    slot = bpf_map_lookup_elem(&push_slots, &row);
    if (!slot)
        return MRC_PUSH_EMPTY;
    verdict = send_slot(ctx, ring, slot);
    *(volatile __u32 *)&ring->consumer = ring->consumer + 1;
    if (verdict == MRC_PUSH_SENT) {
        ring->sent++;
    } else {
        ring->refused++;
        note_refused(slot, verdict);
    }
    return verdict;
}

#endif
