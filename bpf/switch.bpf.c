// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * switch: an SRv6 uSID switch for labs. Shift-and-forward (RFC 9800 NEXT-C-SID) from a static table, with link
 * impairments and a virtual queue per egress port that marks, trims and drops.
 *
 * hook     XDP on every port of the switch, native or generic; multi-buffer aware (xdp.frags)
 * inputs   Ethernet | IPv6 to the uSID block | …; `config`, `devices`. Everything else goes to the kernel.
 * outputs  Ethernet | IPv6 with its carrier shifted | …, by redirect to the egress port. With forward_in_kernel: to the
 *          kernel after the impairments of the ingress port, for the kernel's own seg6local to forward; no byte but a
 *          corrupted one changes.
 * maps     reads sw_routes, sw_impair, sw_tx, sw_twice; writes sw_ports (counters), sw_queues, verdicts; sw_info is
 *          mrc-switch's
 * kernel   6.1
 * cost     140 ns per packet, 230 with a virtual queue, 90 for a foreign one, on a busy 2-core virtual machine
 *          (tests/bpf/switch_test.cpp prints them)
 *
 * An XDP redirect into a veth is dropped, silently, unless its peer runs native XDP or GRO.
 */
#include "maps.h"
#include "parse.h"
#include "switch_impair.h"
#include "switch_queue.h"
#include "verdict.h"

MRC_USES(sw_info);
MRC_USES(sw_ports);
MRC_USES(sw_routes);
MRC_USES(sw_impair);
MRC_USES(sw_tx);
MRC_USES(sw_twice);

#define SW_DSCP_SHIFT 2

const volatile struct mrc_sw_config config = {};
const volatile struct mrc_sw_device devices[MRC_SW_MAX_PORTS] = {};

/* What the steps learn about a packet. Pointers are of the packet as it stands; trimming derives them again. */
struct sw_hop {
    struct headers at;
    __u32 frame_bytes;
    __u32 port; /* egress; with forward_in_kernel ingress */
    struct mrc_sw_route_row route;
    struct mrc_sw_port_row *egress;
    struct mrc_sw_impair_row *link;
};

static __always_inline bool sw_headers(struct xdp_md *ctx, struct sw_hop *hop)
{
    struct cursor cursor = MRC_CURSOR(ctx);

    return take_headers(&cursor, &hop->at);
}

/* Is it IPv6 for the uSID block, and whole? Everything else is the kernel's: neighbour discovery, ssh, the host itself.
 */
static __always_inline enum mrc_verdict sw_parse(struct xdp_md *ctx, struct sw_hop *hop)
{
    if (!sw_headers(ctx, hop) || hop->at.eth->h_proto != bpf_htons(ETH_P_IPV6) ||
        (*(const __u64 *)&hop->at.ip6->daddr & config.block_mask) != config.block)
        return MRC_SW_PASS_NOT_USID;
    if (hop->at.ip6->version != 6 || MRC_OUTER_BYTES + bpf_ntohs(hop->at.ip6->payload_len) > hop->frame_bytes)
        return MRC_SW_DROP_MALFORMED;
    return MRC_GO_ON;
}

/* uN: the own uSID makes room for the next one. A carrier whose active uSID is another node's is plainly routed. */
static __always_inline enum mrc_verdict sw_shift(struct sw_hop *hop)
{
    struct mrc_carrier *carrier = (struct mrc_carrier *)&hop->at.ip6->daddr;

    if (mrc_usid_at(carrier, config.block_bytes, 0) != config.usid)
        return MRC_GO_ON;
    if (!mrc_usid_has_next(carrier, config.block_bytes))
        return MRC_SW_DROP_CARRIER_END;
    mrc_usid_shift(carrier, config.block_bytes);
    return MRC_GO_ON;
}

static __always_inline enum mrc_verdict sw_route(struct sw_hop *hop)
{
    const __u32 usid = mrc_usid_at((const struct mrc_carrier *)&hop->at.ip6->daddr, config.block_bytes, 0);
    const struct mrc_sw_route_row *route = bpf_map_lookup_elem(&sw_routes, &usid);

    if (!route)
        return MRC_SW_DROP_NO_ROUTE;
    hop->route = *route;
    hop->port = route->port;
    hop->egress = bpf_map_lookup_elem(&sw_ports, &hop->port);
    hop->link = bpf_map_lookup_elem(&sw_impair, &hop->port);
    return hop->egress && hop->link ? MRC_GO_ON : MRC_SW_DROP_NO_PORT;
}

static __always_inline enum mrc_verdict sw_hop_limit(struct sw_hop *hop)
{
    if (hop->at.ip6->hop_limit <= 1)
        return MRC_SW_DROP_HOP_LIMIT;
    hop->at.ip6->hop_limit--;
    return MRC_GO_ON;
}

/*
 * Cuts the payload: the frame shrinks to MRC_TRIM_FRAME, the outer header says so and carries the trimmed code point.
 * UDP length, ECN and hop limit stay (protocol.md §6): the receiver learns from them how much was cut.
 */
static __always_inline enum mrc_verdict sw_trim(struct xdp_md *ctx, struct sw_hop *hop)
{
    const bool last_hop = hop->egress->flags & MRC_SW_PORT_HOST_FACING;
    const __u8 dscp = last_hop ? MRC_DSCP_TRIMMED_LASTHOP : MRC_DSCP_TRIMMED;

    if (bpf_xdp_adjust_tail(ctx, MRC_TRIM_FRAME - (int)hop->frame_bytes) || !sw_headers(ctx, hop))
        return MRC_SW_DROP_QUEUE;
    hop->frame_bytes = MRC_TRIM_FRAME;
    hop->at.ip6->payload_len = bpf_htons(MRC_TRIM_FRAME - MRC_OUTER_BYTES);
    ipv6_set_tclass(hop->at.ip6, MRC_TCLASS(dscp, ipv6_tclass(hop->at.ip6) & MRC_ECN_MASK));
    count_verdict(MRC_SW_TRIMMED);
    return MRC_GO_ON;
}

static __always_inline enum mrc_verdict sw_enqueue(struct xdp_md *ctx, struct sw_hop *hop)
{
    const __u8 tclass = ipv6_tclass(hop->at.ip6);
    const __u8 dscp = tclass >> SW_DSCP_SHIFT;
    const __u8 ecn = tclass & MRC_ECN_MASK;
    const bool marks = hop->link->flags & MRC_SW_ECN && !(hop->egress->flags & MRC_SW_PORT_HOST_FACING);
    const bool markable = marks && (ecn == MRC_ECN_ECT0 || ecn == MRC_ECN_ECT1);
    /* By the length field, which sw_parse found no longer than the frame: link padding is not payload. */
    const __u32 packet_bytes = MRC_OUTER_BYTES + bpf_ntohs(hop->at.ip6->payload_len);
    const struct sw_arrival arrival = {
        .now_ns = bpf_ktime_get_ns(),
        .bytes = hop->frame_bytes,
        .trim_bytes = packet_bytes > MRC_TRIM_FRAME ? MRC_TRIM_FRAME : 0,
        .random = markable ? bpf_get_prandom_u32() : 0, /* a lock is held where it is known whether it is needed */
        .priority = dscp == MRC_DSCP_CONTROL || dscp == MRC_DSCP_TRIMMED || dscp == MRC_DSCP_TRIMMED_LASTHOP,
        .trimmable = dscp == MRC_DSCP_TRIMMABLE || dscp == MRC_DSCP_TRIMMABLE_RETX,
        .markable = markable,
    };

    switch (sw_queue_pass(hop->port, hop->link, &arrival)) {
    case SW_QUEUE_MARK:
        ipv6_set_tclass(hop->at.ip6, tclass | MRC_ECN_CE);
        count_verdict(MRC_SW_MARKED);
        return MRC_GO_ON;
    case SW_QUEUE_TRIM:
        return sw_trim(ctx, hop);
    case SW_QUEUE_DROP:
        return MRC_SW_DROP_QUEUE;
    case SW_QUEUE_DROP_PRIORITY:
        return dscp == MRC_DSCP_CONTROL ? MRC_SW_DROP_QUEUE : MRC_SW_DROP_TRIM_QUEUE;
    case SW_QUEUE_ADMIT:
        return MRC_GO_ON;
    }
    return MRC_GO_ON;
}

/* A link without a rate has no queue, and needs no clock. */
static __always_inline enum mrc_verdict sw_queue(struct xdp_md *ctx, struct sw_hop *hop)
{
    return hop->link->rate ? sw_enqueue(ctx, hop) : MRC_GO_ON;
}

static __always_inline void sw_count_sent(const struct sw_hop *hop)
{
    add(&hop->egress->tx_packets, 1);
    add(&hop->egress->tx_bytes, hop->frame_bytes);
}

/* Frames leave once through sw_tx, or twice through the port's pair. */
static __always_inline bool sw_redirect(struct sw_hop *hop)
{
    void *pair;

    if (!sw_hit(hop->link->duplicate))
        return bpf_redirect_map(&sw_tx, hop->port, XDP_DROP) == XDP_REDIRECT;
    pair = bpf_map_lookup_elem(&sw_twice, &hop->port);
    if (!pair || bpf_redirect_map(pair, 0, BPF_F_BROADCAST) != XDP_REDIRECT)
        return false;
    count_verdict(MRC_SW_IMPAIR_DUPLICATE);
    sw_count_sent(hop);
    return true;
}

static __always_inline enum mrc_verdict sw_send(struct xdp_md *ctx, struct sw_hop *hop)
{
    /* Writing to the packet makes pointers into it invalid. */
    if (sw_hit(hop->link->corrupt)) {
        sw_impair_corrupt(ctx, hop->frame_bytes);
        if (!sw_headers(ctx, hop))
            return MRC_SW_DROP_MALFORMED;
    }
    copy_mac(hop->at.eth->h_dest, hop->route.mac);
    copy_mac(hop->at.eth->h_source, hop->egress->mac);
    if (!sw_redirect(hop))
        return MRC_SW_DROP_NO_PORT;
    sw_count_sent(hop);
    return MRC_SW_FORWARDED;
}

/* The ingress port's row number, or a row that does not exist. */
static __always_inline __u32 sw_ingress(__u32 ifindex)
{
    for (__u32 i = 0; i < MRC_SW_MAX_PORTS; i++) {
        const volatile struct mrc_sw_device *device = &devices[mrc_sw_device_slot(ifindex, i)];

        if (device->ifindex == ifindex)
            return device->port;
    }
    return MRC_SW_MAX_PORTS;
}

static __always_inline void sw_count_received(__u32 ingress, __u32 frame_bytes)
{
    struct mrc_sw_port_row *port = bpf_map_lookup_elem(&sw_ports, &ingress);

    if (!port)
        return;
    add(&port->rx_packets, 1);
    add(&port->rx_bytes, frame_bytes);
}

/* A cable that is cut carries nothing either way: what arrives on a blackholed port is lost as well. */
static __always_inline enum mrc_verdict sw_arrive(__u32 ingress)
{
    const struct mrc_sw_impair_row *link = bpf_map_lookup_elem(&sw_impair, &ingress);

    return link && link->flags & MRC_SW_BLACKHOLE ? MRC_SW_IMPAIR_BLACKHOLE : MRC_GO_ON;
}

static __always_inline enum mrc_verdict sw_forward(struct xdp_md *ctx, struct sw_hop *hop, __u32 ingress)
{
    MRC_STEP(sw_arrive(ingress));
    MRC_STEP(sw_shift(hop));
    MRC_STEP(sw_route(hop));
    MRC_STEP(sw_hop_limit(hop));
    MRC_STEP(sw_impair_lose(hop->link));
    MRC_STEP(sw_queue(ctx, hop));
    return sw_send(ctx, hop);
}

static __always_inline enum mrc_verdict sw_leave_to_kernel(struct xdp_md *ctx, struct sw_hop *hop, __u32 ingress)
{
    const struct mrc_sw_impair_row *link = bpf_map_lookup_elem(&sw_impair, &ingress);

    if (!link)
        return MRC_SW_PASS_KERNEL;
    MRC_STEP(sw_impair_lose(link));
    if (sw_hit(link->corrupt))
        sw_impair_corrupt(ctx, hop->frame_bytes);
    return MRC_SW_PASS_KERNEL;
}

static __always_inline enum mrc_verdict sw_switch(struct xdp_md *ctx, struct sw_hop *hop)
{
    const __u32 ingress = sw_ingress(ctx->ingress_ifindex);

    hop->frame_bytes = (__u32)bpf_xdp_get_buff_len(ctx);
    sw_count_received(ingress, hop->frame_bytes);
    MRC_STEP(sw_parse(ctx, hop));
    return config.forward_in_kernel ? sw_leave_to_kernel(ctx, hop, ingress) : sw_forward(ctx, hop, ingress);
}

SEC("xdp.frags")
int switch_port(struct xdp_md *ctx)
{
    struct sw_hop hop = {};
    const enum mrc_verdict verdict = sw_switch(ctx, &hop);

    count_verdict(verdict);
    return xdp_action(verdict);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
