/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What host_rx copies of a packet for `mrcctl capture`: as it arrived, and as it goes on. The first copy is made before
 * the packet is changed, and gets its verdict at the end: until then its slot stays unpublished.
 */
#ifndef MRC_BPF_CAPTURE_RECEIVED_H
#define MRC_BPF_CAPTURE_RECEIVED_H

#define MRC_CAPTURE_XDP
#include "capture.h"
#include "classify.h"

/* To be called before anything of the packet is changed. */
static __always_inline void capture_arrival(struct xdp_md *ctx, struct rx_packet *packet)
{
    struct capture_request request = {.point = MRC_CAPTURE_ARRIVED, .port = (__u8)config.port};

    if (packet->capture != MRC_CAPTURE_PENDING)
        return;
    if (packet->mrc)
        request.bth_at = bth_behind(packet->encapsulated ? MRC_OUTER_BYTES : ETH_HLEN, packet->inner.ipv4);
    packet->capture = MRC_CAPTURE_TRIED;
    packet->copy = copy_packet(ctx, &request);
}

/* The packet, or the answer in its place, leaves in another shape than it came in. */
static __always_inline void capture_departure(struct xdp_md *ctx, enum mrc_capture_point point,
                                              enum mrc_verdict verdict)
{
    struct capture_request request = {.point = (__u8)point, .port = (__u8)config.port, .chosen = true};

    if (verdict == MRC_RX_STEERED)
        request.skip = sizeof(struct mrc_rx_meta);
    capture(ctx, &request, verdict);
}

/* What is nobody's business but the kernel's is not copied. A slot that was claimed is published in any case. */
static __always_inline void finish_capture(struct xdp_md *ctx, struct rx_packet *packet, enum mrc_verdict verdict)
{
    if (verdict != MRC_RX_PASS_NOT_OURS && verdict != MRC_RX_PASS_MALFORMED)
        capture_arrival(ctx, packet); /* dropped before anything was changed */
    if (!packet->copy)
        return;
    publish_capture(packet->copy, verdict);
    if (verdict == MRC_RX_REFLECTED)
        capture_departure(ctx, MRC_CAPTURE_ANSWERED, verdict);
    else if (packet->encapsulated && (verdict == MRC_RX_STEERED || verdict == MRC_RX_PASS_POPPED))
        capture_departure(ctx, MRC_CAPTURE_POPPED, verdict);
}

#endif
