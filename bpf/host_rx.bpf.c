// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * host_rx: what arrives on a port. Pops SRv6, classifies, keeps the per-path signals, steers MRC to AF_XDP.
 *
 * hook     XDP on each port, native or generic. One instance of the object per port; the maps are shared.
 *          Load with BPF_F_XDP_HAS_FRAGS for multi-buffer frames: headers are read from the first buffer only.
 * inputs   Ethernet | [outer IPv6 to our uSID] | IPv6 or IPv4 | …; `config`
 * outputs  MRC: struct mrc_rx_meta | Ethernet | inner packet, to the AF_XDP socket of the port's queue.
 *          EV probes: the answer, back out of the same port.
 *          Other popped packets: Ethernet | inner packet, to the kernel, ECN by RFC 6040. Foreign packets: untouched.
 * maps     reads qps, peers, paths, xsks; writes signals, ports (counters), paths (sent answers), reflectors, verdicts
 * kernel   6.1
 * cost     280 ns for a steered packet, 740 ns for an answered probe, 100 ns for a foreign packet: single cold runs, of
 *          which about 80 ns are the measuring (tests/bpf/host_rx_test.cpp prints them)
 */
#include "classify.h"
#include "ecn.h"
#include "parse.h"
#include "reflect.h"
#include "rows.h"
#include "signals.h"
#include "verdict.h"

MRC_ROWS(qps, struct mrc_qp_row, MRC_MAX_QPS);
MRC_ROWS(ports, struct mrc_port_row, MRC_MAX_PORTS);
MRC_ROWS(signals, struct mrc_signal_row, MRC_MAX_PATHS);
MRC_PEERS(peers);

struct {
    __uint(type, BPF_MAP_TYPE_XSKMAP);
    __uint(max_entries, MRC_MAX_PORTS *MRC_MAX_QUEUES);
    __type(key, __u32);
    __type(value, __u32);
} xsks SEC(".maps");

/* The QP that is addressed exists and belongs to the sender; endpoint operations need a known peer instead. */
static __always_inline enum mrc_verdict authorise(struct rx_packet *packet)
{
    const __u32 row = MRC_QPN_ROW(packet->dqp);
    const struct mrc_qp_row *qp;

    packet->peer = bpf_map_lookup_elem(&peers, &packet->source);
    packet->qp_row = MRC_NO_QP;
    if (is_endpoint_operation(packet->kind))
        return packet->peer ? MRC_GO_ON : MRC_RX_DROP_UNKNOWN_PEER;
    qp = bpf_map_lookup_elem(&qps, &row);
    if (!qp || !packet->dqp || qp->qpn != packet->dqp)
        return MRC_RX_DROP_UNKNOWN_QP;
    if (!same_ip(&qp->peer, &packet->source))
        return MRC_RX_DROP_WRONG_PEER;
    packet->qp_row = row;
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

/* Moves the Ethernet header over the outer IPv6 header. Every pointer into the packet is stale afterwards. */
static __always_inline enum mrc_verdict pop(struct xdp_md *ctx, const struct rx_packet *packet)
{
    struct cursor cursor = packet_cursor(ctx);
    struct ethhdr *eth = take(&cursor, sizeof(*eth));
    struct ethhdr moved;

    if (!packet->encapsulated)
        return MRC_GO_ON;
    if (!eth)
        return MRC_RX_DROP_RESIZE;
    moved = *eth;
    moved.h_proto = bpf_htons(packet->ipv4 ? ETH_P_IP : ETH_P_IPV6);
    if (bpf_xdp_adjust_head(ctx, sizeof(struct ipv6hdr)))
        return MRC_RX_DROP_RESIZE;
    cursor = packet_cursor(ctx);
    eth = take(&cursor, sizeof(*eth));
    if (!eth)
        return MRC_RX_DROP_RESIZE;
    *eth = moved;
    return MRC_GO_ON;
}

/*
 * A queue that was added after mrcd started has no socket. What arrives there is dropped, so no probe may be answered
 * there: its path would be taken for good.
 */
static __always_inline bool has_socket(const struct xdp_md *ctx)
{
    const __u32 queue = ctx->rx_queue_index;
    const __u32 row = config.port * MRC_MAX_QUEUES + queue;

    return queue < MRC_MAX_QUEUES && bpf_map_lookup_elem(&xsks, &row);
}

static __always_inline enum mrc_verdict steer(struct xdp_md *ctx, const struct rx_packet *packet)
{
    const __u32 queue = ctx->rx_queue_index;
    struct mrc_rx_meta *meta;

    if (queue >= MRC_MAX_QUEUES)
        return MRC_RX_DROP_NO_SOCKET;
    if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*meta)))
        return MRC_RX_DROP_RESIZE;
    meta = (void *)(long)ctx->data_meta;
    if ((void *)(meta + 1) > (void *)(long)ctx->data)
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
    if (bpf_redirect_map(&xsks, config.port * MRC_MAX_QUEUES + queue, XDP_DROP) != XDP_REDIRECT)
        return MRC_RX_DROP_NO_SOCKET;
    return MRC_RX_STEERED;
}

/* A popped packet that is not MRC belongs to the kernel. */
static __always_inline enum mrc_verdict hand_to_kernel(struct xdp_md *ctx, const struct rx_packet *packet)
{
    enum mrc_verdict verdict;

    if (!packet->encapsulated)
        return MRC_RX_PASS_NOT_OURS;
    verdict = ecn_inward(ctx, packet);
    if (verdict != MRC_GO_ON)
        return verdict;
    verdict = pop(ctx, packet);
    return verdict == MRC_GO_ON ? MRC_RX_PASS_POPPED : verdict;
}

static __always_inline enum mrc_verdict receive(struct xdp_md *ctx, struct rx_packet *packet)
{
    struct cursor cursor = packet_cursor(ctx);
    enum mrc_verdict verdict;

    packet->frame_bytes = (__u32)bpf_xdp_get_buff_len(ctx);
    verdict = parse_outer(&cursor, packet);
    if (verdict != MRC_GO_ON)
        return verdict;
    verdict = parse_inner(&cursor, packet);
    if (verdict != MRC_GO_ON)
        return verdict;
    if (!packet->mrc)
        return hand_to_kernel(ctx, packet);
    if (!config.fabric)
        return MRC_RX_DROP_NOT_FABRIC;
    verdict = classify(&cursor, packet);
    if (verdict != MRC_GO_ON)
        return verdict;
    verdict = authorise(packet);
    if (verdict != MRC_GO_ON)
        return verdict;
    packet->path = packet->peer ? path_row(packet->peer, packet->ev) : 0;
    packet->now = bpf_ktime_get_ns();
    count_signals(packet);
    if (packet->kind == MRC_KIND_ENDPOINT_REQUEST && packet->peer && has_socket(ctx)) {
        verdict = reflect(ctx, packet, own_port());
        if (verdict != MRC_GO_ON)
            return verdict;
    }
    verdict = pop(ctx, packet);
    if (verdict != MRC_GO_ON)
        return verdict;
    return steer(ctx, packet);
}

static __always_inline int action_of(enum mrc_verdict verdict)
{
    switch (verdict) {
    case MRC_RX_STEERED:
        return XDP_REDIRECT;
    case MRC_RX_REFLECTED:
        return XDP_TX;
    case MRC_RX_PASS_NOT_OURS:
    case MRC_RX_PASS_POPPED:
    case MRC_RX_PASS_MALFORMED:
        return XDP_PASS;
    default:
        return XDP_DROP;
    }
}

SEC("xdp")
int host_rx(struct xdp_md *ctx)
{
    struct rx_packet packet = {};
    const enum mrc_verdict verdict = receive(ctx, &packet);

    /* A port's counters are the fabric's traffic; what else the kernel receives it counts itself. */
    if (verdict != MRC_RX_PASS_NOT_OURS && verdict != MRC_RX_PASS_MALFORMED)
        count_port(&packet);
    count_verdict(verdict);
    return action_of(verdict);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
