// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * host_rx: what arrives on a port. Pops SRv6, classifies, keeps the per-path signals, steers MRC to AF_XDP.
 *
 * hook     XDP on each port, native or generic. One instance of the object per port; the maps are shared.
 *          Load with BPF_F_XDP_HAS_FRAGS for multi-buffer frames: headers are read from the first buffer only.
 * inputs   Ethernet | [outer IPv6 to our uSID, or address on the plane] | IPv6 or IPv4 | …; `config`
 * outputs  MRC: struct mrc_rx_meta | Ethernet | inner packet, to the AF_XDP socket that a worker has on the
 *          port's queue: that of the queue pair; of a response, the one that has asked; else the first.
 *          EV probes: the answer, back out of the same port.
 *          Loops of the fabric map: counted, and no further.
 *          Other popped packets: Ethernet | inner packet, to the kernel, ECN by RFC 6040; only to the host's own
 *          addresses, and no neighbour discovery. What is not encapsulated and not MRC: to the kernel, untouched.
 * maps     reads qps, peers, paths, next_hops, xsks; writes signals, ports (counters), paths (sent answers),
 *          loops, loop_arrivals, reflectors, verdicts; of what it drops, drops, events and their number in host; while
 *          mrcctl captures, capture_ring and capture_slots
 * kernel   6.1
 * cost     280 ns for a steered packet, 740 ns for an answered probe, 100 ns for a foreign packet: single cold runs, of
 *          which about 80 ns are the measuring (tests/bpf/host_rx_test.cpp prints them)
 */
#include "capture_received.h"
#include "classify.h"
#include "decapsulate.h"
#include "drops.h"
#include "loop.h"
#include "maps.h"
#include "path_row.h"
#include "reflect.h"
#include "signals.h"
#include "verdict.h"

MRC_USES(qps);
MRC_USES(ports);
MRC_USES(signals);
MRC_USES(xsks);
MRC_USES(clients); /* these are of no program: created and pinned with the others, for the agent to write */
MRC_USES(workers);
MRC_USES(qps_in_use);
MRC_USES(paths_in_use);
MRC_USES(fabric_faults);
MRC_USES(trace_ring);
MRC_USES(trace_rows);

/*
 * The QP that is addressed exists and is connected to the sender, whichever of the addresses that speak for it this is;
 * endpoint operations need a known peer instead.
 */
static __always_inline enum mrc_verdict authorise(struct rx_packet *packet)
{
    const __u32 row = MRC_QPN_ROW(packet->dqp);
    const struct mrc_qp_row *qp;

    packet->peer = bpf_map_lookup_elem(&peers, &packet->inner.source);
    packet->qp_row = MRC_NO_QP;
    if (is_endpoint_operation(packet->kind))
        return packet->peer ? MRC_GO_ON : MRC_RX_DROP_UNKNOWN_PEER;
    qp = bpf_map_lookup_elem(&qps, &row);
    if (!qp || !packet->dqp || qp->qpn != packet->dqp)
        return MRC_RX_DROP_UNKNOWN_QP;
    if (!packet->peer || packet->peer->sender != qp->sender)
        return MRC_RX_DROP_WRONG_PEER;
    packet->qp_row = row;
    packet->worker = qp->worker;
    return MRC_GO_ON;
}

static __always_inline void count_signals(const struct rx_packet *packet)
{
    const __u32 path = packet->path;
    struct mrc_signal_row *signal = bpf_map_lookup_elem(&signals, &path);

    if (signal)
        signal_arrival(signal, packet);
    if (packet->kind != MRC_KIND_SACK && packet->kind != MRC_KIND_NACK)
        return;
    const __u32 echoed = packet->peer ? path_row(packet->peer, packet->echo.ev) : 0;
    signal = bpf_map_lookup_elem(&signals, &echoed);
    if (signal)
        signal_echo(signal, packet);
}

static __always_inline struct mrc_port_row *own_port(void)
{
    const __u32 row = config.port;

    return bpf_map_lookup_elem(&ports, &row);
}

static __always_inline void count_port(const struct rx_packet *packet)
{
    struct mrc_port_row *port = own_port();

    if (!port)
        return;
    add(&port->rx_packets, 1);
    add(&port->rx_bytes, packet->frame_bytes);
}

/*
 * A queue that was added after mrcd started has no socket. What arrives there is dropped, so no probe may be answered
 * there: its path would be taken for good.
 */
static __always_inline bool has_socket(const struct xdp_md *ctx)
{
    const __u32 queue = ctx->rx_queue_index;
    const __u32 row = MRC_SOCKET_ROW(config.port, queue, 0);

    return queue < MRC_MAX_QUEUES && bpf_map_lookup_elem(&xsks, &row);
}

/*
 * What the worker is told stands in front of the packet, as a part of it: some drivers have no XDP metadata. It takes
 * the place of an outer header.
 */
static __always_inline enum mrc_verdict steer(struct xdp_md *ctx, const struct rx_packet *packet)
{
    const __u32 queue = ctx->rx_queue_index;
    struct mrc_rx_meta *meta;

    if (queue >= MRC_MAX_QUEUES)
        return MRC_RX_DROP_NO_SOCKET;
    MRC_STEP(pop(ctx, packet, sizeof(*meta)));
    meta = (void *)(long)ctx->data;
    if ((void *)(meta + 1) > (void *)(long)ctx->data_end)
        return MRC_RX_DROP_RESIZE;
    *meta = (struct mrc_rx_meta){
        .arrival_ns = packet->now,
        .ev = packet->ev,
        .path = packet->path,
        .qp_row = packet->qp_row,
        .port = (__u8)config.port,
        .kind = packet->kind,
        .flags = packet->flags,
        .queue = (__u8)queue,
        .length = packet->length,
        .magic = MRC_RX_META_MAGIC,
    };
    /* The last argument is what comes back when no socket sits there. */
    if (packet->worker >= MRC_MAX_WORKERS ||
        bpf_redirect_map(&xsks, MRC_SOCKET_ROW(config.port, queue, packet->worker), XDP_DROP) != XDP_REDIRECT)
        return MRC_RX_DROP_NO_SOCKET;
    return MRC_RX_STEERED;
}

/* In direct mode a peer carries its own packets, nobody else's. */
static __always_inline enum mrc_verdict authorise_carrier(const struct rx_packet *packet)
{
    const struct mrc_peer_row *sender;

    if (config.carrier != MRC_CARRIER_DIRECT)
        return MRC_GO_ON;
    sender = bpf_map_lookup_elem(&peers, &packet->inner.source);
    return sender && sender->sender == packet->carrier ? MRC_GO_ON : MRC_RX_DROP_WRONG_PEER;
}

static __always_inline enum mrc_verdict hand_to_kernel(struct xdp_md *ctx, struct rx_packet *packet)
{
    MRC_STEP(authorise_carrier(packet));
    capture_arrival(ctx, packet);
    if (!packet->inner.ipv4)
        MRC_STEP(refuse_neighbour_discovery(ctx, &packet->inner));
    MRC_STEP(ecn_inward(ctx, packet));
    MRC_STEP(pop(ctx, packet, 0));
    return MRC_RX_PASS_POPPED;
}

static __always_inline enum mrc_verdict take_mrc(struct xdp_md *ctx, struct cursor *at_bth, struct rx_packet *packet)
{
    if (!config.fabric)
        return MRC_RX_DROP_NOT_FABRIC;
    MRC_STEP(classify(at_bth, packet));
    MRC_STEP(authorise(packet));
    packet->path = packet->peer ? path_row(packet->peer, packet->ev) : 0;
    packet->now = bpf_ktime_get_ns();
    count_signals(packet);
    capture_arrival(ctx, packet);
    if (packet->kind == MRC_KIND_ENDPOINT_REQUEST && packet->peer && has_socket(ctx))
        MRC_STEP(reflect(ctx, packet));
    return steer(ctx, packet);
}

/* Under our uSID only what is for this host itself is let in: it is no router, and nobody sends anything else there. */
static __always_inline enum mrc_verdict receive(struct xdp_md *ctx, struct rx_packet *packet)
{
    struct cursor cursor = MRC_CURSOR(ctx);

    packet->frame_bytes = (__u32)bpf_xdp_get_buff_len(ctx);
    MRC_STEP(parse_outer(&cursor, packet));
    if (packet->loop)
        return take_loop(&cursor);
    MRC_STEP(parse_inner(&cursor, packet));
    packet->mrc = is_mrc(&cursor, packet);
    if (!packet->mrc && !packet->encapsulated)
        return MRC_RX_PASS_NOT_OURS;
    if (!is_our_address(&packet->inner.destination))
        return packet->encapsulated ? MRC_RX_DROP_FOREIGN : MRC_RX_PASS_NOT_OURS;
    return packet->mrc ? take_mrc(ctx, &cursor, packet) : hand_to_kernel(ctx, packet);
}

static __always_inline void note_drop(const struct rx_packet *packet, enum mrc_verdict verdict)
{
    struct dropped_packet dropped = {
        .address = packet->inner.source,
        .verdict = verdict,
        .port = config.port,
        .qpn = packet->dqp,
    };

    count_drop(&dropped);
}

SEC("xdp")
int host_rx(struct xdp_md *ctx)
{
    struct rx_packet packet = {.capture = is_capturing() ? MRC_CAPTURE_PENDING : MRC_CAPTURE_OFF};
    const enum mrc_verdict verdict = receive(ctx, &packet);
    int action;

    if (verdict == MRC_RX_LOOP) { /* has counters of its own, and would hide what else is captured */
        count_verdict(verdict);
        return XDP_DROP;
    }
    /* A port's counters are the fabric's traffic; what else the kernel receives it counts itself. */
    if (verdict != MRC_RX_PASS_NOT_OURS && verdict != MRC_RX_PASS_MALFORMED)
        count_port(&packet);
    count_verdict(verdict);
    if (packet.capture != MRC_CAPTURE_OFF)
        finish_capture(ctx, &packet, verdict);
    if (verdict == MRC_RX_REFLECTED && config.redirect_answers)
        return (int)bpf_redirect(ctx->ingress_ifindex, 0);
    action = xdp_action(verdict);
    if (action == XDP_DROP)
        note_drop(&packet, verdict);
    return action;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
