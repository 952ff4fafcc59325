// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * SRv6 uSID switch for labs: shift-and-forward (RFC 9800 NEXT-C-SID) from a static table, with link impairments and a
 * virtual queue per egress port that marks, trims and drops.
 *
 * hook:    XDP on every port of the switch, native or generic; multi-buffer aware (xdp.frags)
 * input:   Ethernet frames; acts on IPv6 whose destination is in the uSID block, passes everything else to the kernel
 * output:  redirect to the egress port, or XDP_DROP with a counted reason. With forward_in_kernel: XDP_PASS after the
 *          impairments of the ingress port, for the kernel's own seg6local to forward; no byte but a corrupted one
 *          changes
 * maps:    switch_tables.h; layouts of the pinned ones: include/mrc/abi/switch_maps.h
 * kernel:  6.1 and newer
 * cost:    about 200 ns per packet, 250 with a virtual queue, 80 for a foreign one, on a busy 2-core virtual machine
 *          (tests/bpf/switch_test.cpp prints it)
 *
 * An XDP redirect into a veth is dropped, silently, unless its peer runs native XDP or GRO.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ipv6.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "mrc/abi/srv6.h"

#include "switch_impair.h"
#include "switch_queue.h"
#include "switch_tables.h"

#define SW_DSCP_SHIFT 2

const volatile __be32 own_block = 0;
const volatile __u16 own_usid = 0;
const volatile __u8 forward_in_kernel = 0; /* a byte: bpftool writes bool into C++ skeletons as _Bool */

/* What the steps learn about a packet. Pointers are of the packet as it stands; trimming derives them again. */
struct sw_hop {
    struct ethhdr *eth;
    struct ipv6hdr *ip;
    __u32 frame_bytes;
    __u32 port; /* egress; with forward_in_kernel ingress */
    struct mrc_sw_route_row route;
    struct mrc_sw_port_row *egress;
    struct mrc_sw_impair_row *link;
};

static __always_inline bool sw_headers(struct xdp_md *ctx, struct sw_hop *hop)
{
    void *data = (void *)(long)ctx->data;
    void *data_end = (void *)(long)ctx->data_end;

    if (data + MRC_OUTER_BYTES > data_end)
        return false;
    hop->eth = data;
    hop->ip = data + sizeof(struct ethhdr);
    return true;
}

static __always_inline __u8 sw_traffic_class(const struct ipv6hdr *ip)
{
    return (__u8)(ip->priority << 4 | ip->flow_lbl[0] >> 4);
}

static __always_inline void sw_set_traffic_class(struct ipv6hdr *ip, __u8 tclass)
{
    ip->priority = tclass >> 4;
    ip->flow_lbl[0] = (__u8)((ip->flow_lbl[0] & 0x0F) | tclass << 4);
}

/* Is it IPv6 for the uSID block, and whole? Everything else is the kernel's: neighbour discovery, ssh, the host itself.
 */
static __always_inline int sw_parse(struct xdp_md *ctx, struct sw_hop *hop)
{
    hop->frame_bytes = (__u32)bpf_xdp_get_buff_len(ctx);
    if (!sw_headers(ctx, hop) || hop->eth->h_proto != bpf_htons(ETH_P_IPV6) || hop->ip->daddr.s6_addr32[0] != own_block)
        return MRC_SW_PASS_NOT_USID;
    if (hop->ip->version != 6 || MRC_OUTER_BYTES + bpf_ntohs(hop->ip->payload_len) > hop->frame_bytes)
        return MRC_SW_DROP_MALFORMED;
    return SW_CONTINUE;
}

/* uN: the own uSID makes room for the next one. A carrier whose active uSID is another node's is plainly routed. */
static __always_inline int sw_shift(struct sw_hop *hop)
{
    struct mrc_carrier *carrier = (struct mrc_carrier *)&hop->ip->daddr;

    if (mrc_usid_at(carrier, 0) != own_usid)
        return SW_CONTINUE;
    if (!mrc_usid_has_next(carrier))
        return MRC_SW_DROP_CARRIER_END;
    mrc_usid_shift(carrier);
    return SW_CONTINUE;
}

static __always_inline int sw_route(struct sw_hop *hop)
{
    const __u32 usid = mrc_usid_at((const struct mrc_carrier *)&hop->ip->daddr, 0);
    const struct mrc_sw_route_row *route = bpf_map_lookup_elem(&sw_routes, &usid);

    if (!route)
        return MRC_SW_DROP_NO_ROUTE;
    hop->route = *route;
    hop->port = route->port;
    hop->egress = bpf_map_lookup_elem(&sw_ports, &hop->port);
    hop->link = bpf_map_lookup_elem(&sw_impair, &hop->port);
    return hop->egress && hop->link ? SW_CONTINUE : MRC_SW_DROP_NO_PORT;
}

static __always_inline int sw_hop_limit(struct sw_hop *hop)
{
    if (hop->ip->hop_limit <= 1)
        return MRC_SW_DROP_HOP_LIMIT;
    hop->ip->hop_limit--;
    return SW_CONTINUE;
}

/*
 * Cuts the payload: the frame shrinks to MRC_TRIM_FRAME, the outer header says so and carries the trimmed code point.
 * UDP length, ECN and hop limit stay (protocol.md §6): the receiver learns from them how much was cut.
 */
static __always_inline int sw_trim(struct xdp_md *ctx, struct sw_hop *hop)
{
    const bool last_hop = hop->egress->flags & MRC_SW_PORT_HOST_FACING;
    const __u8 dscp = last_hop ? MRC_DSCP_TRIMMED_LASTHOP : MRC_DSCP_TRIMMED;

    if (bpf_xdp_adjust_tail(ctx, MRC_TRIM_FRAME - (int)hop->frame_bytes) || !sw_headers(ctx, hop))
        return MRC_SW_DROP_QUEUE;
    hop->frame_bytes = MRC_TRIM_FRAME;
    hop->ip->payload_len = bpf_htons(MRC_TRIM_FRAME - MRC_OUTER_BYTES);
    sw_set_traffic_class(hop->ip, MRC_TCLASS(dscp, sw_traffic_class(hop->ip) & MRC_ECN_MASK));
    sw_count(MRC_SW_TRIMMED);
    return SW_CONTINUE;
}

static __always_inline int sw_queue(struct xdp_md *ctx, struct sw_hop *hop)
{
    const __u8 tclass = sw_traffic_class(hop->ip);
    const __u8 dscp = tclass >> SW_DSCP_SHIFT;
    const __u8 ecn = tclass & MRC_ECN_MASK;
    const bool marks = hop->link->flags & MRC_SW_ECN && !(hop->egress->flags & MRC_SW_PORT_HOST_FACING);
    /* By the length field, which sw_parse found no longer than the frame: link padding is not payload. */
    const __u32 packet_bytes = MRC_OUTER_BYTES + bpf_ntohs(hop->ip->payload_len);
    const struct sw_arrival arrival = {
        .now_ns = bpf_ktime_get_ns(),
        .bytes = hop->frame_bytes,
        .trim_bytes = packet_bytes > MRC_TRIM_FRAME ? MRC_TRIM_FRAME : 0,
        .random = bpf_get_prandom_u32(),
        .priority = dscp == MRC_DSCP_CONTROL || dscp == MRC_DSCP_TRIMMED || dscp == MRC_DSCP_TRIMMED_LASTHOP,
        .trimmable = dscp == MRC_DSCP_TRIMMABLE || dscp == MRC_DSCP_TRIMMABLE_RETX,
        .markable = marks && (ecn == MRC_ECN_ECT0 || ecn == MRC_ECN_ECT1),
    };

    switch (sw_queue_pass(hop->port, hop->link, &arrival)) {
    case SW_QUEUE_MARK:
        sw_set_traffic_class(hop->ip, tclass | MRC_ECN_CE);
        sw_count(MRC_SW_MARKED);
        return SW_CONTINUE;
    case SW_QUEUE_TRIM:
        return sw_trim(ctx, hop);
    case SW_QUEUE_DROP:
        return MRC_SW_DROP_QUEUE;
    case SW_QUEUE_DROP_PRIORITY:
        return dscp == MRC_DSCP_CONTROL ? MRC_SW_DROP_QUEUE : MRC_SW_DROP_TRIM_QUEUE;
    case SW_QUEUE_ADMIT:
        return SW_CONTINUE;
    }
    return SW_CONTINUE;
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
    sw_count(MRC_SW_IMPAIR_DUPLICATE);
    __sync_fetch_and_add(&hop->egress->tx_packets, 1);
    __sync_fetch_and_add(&hop->egress->tx_bytes, hop->frame_bytes);
    return true;
}

static __always_inline int sw_send(struct xdp_md *ctx, struct sw_hop *hop)
{
    sw_impair_corrupt(ctx, hop->link, hop->frame_bytes);
    if (!sw_headers(ctx, hop))
        return MRC_SW_DROP_MALFORMED;
    __builtin_memcpy(hop->eth->h_dest, hop->route.mac, ETH_ALEN);
    __builtin_memcpy(hop->eth->h_source, hop->egress->mac, ETH_ALEN);
    if (!sw_redirect(hop))
        return MRC_SW_DROP_NO_PORT;
    __sync_fetch_and_add(&hop->egress->tx_packets, 1);
    __sync_fetch_and_add(&hop->egress->tx_bytes, hop->frame_bytes);
    return MRC_SW_FORWARDED;
}

/* The ingress port's row number, or a row that does not exist. */
static __always_inline __u32 sw_receive(struct xdp_md *ctx)
{
    const __u32 ifindex = ctx->ingress_ifindex;
    const __u32 *row = bpf_map_lookup_elem(&sw_devices, &ifindex);
    struct mrc_sw_port_row *port = row ? bpf_map_lookup_elem(&sw_ports, row) : NULL;

    if (!row || !port)
        return MRC_SW_MAX_PORTS;
    __sync_fetch_and_add(&port->rx_packets, 1);
    __sync_fetch_and_add(&port->rx_bytes, bpf_xdp_get_buff_len(ctx));
    return *row;
}

/* A cable that is cut carries nothing either way: what arrives on a blackholed port is lost as well. */
static __always_inline int sw_arrive(__u32 ingress)
{
    const struct mrc_sw_impair_row *link = bpf_map_lookup_elem(&sw_impair, &ingress);

    return link && link->flags & MRC_SW_BLACKHOLE ? (int)MRC_SW_IMPAIR_BLACKHOLE : SW_CONTINUE;
}

static __always_inline int sw_forward(struct xdp_md *ctx, struct sw_hop *hop, __u32 ingress)
{
    int verdict = sw_arrive(ingress);

    if (verdict == SW_CONTINUE)
        verdict = sw_shift(hop);
    if (verdict == SW_CONTINUE)
        verdict = sw_route(hop);
    if (verdict == SW_CONTINUE)
        verdict = sw_hop_limit(hop);
    if (verdict == SW_CONTINUE)
        verdict = sw_impair_lose(hop->link);
    if (verdict == SW_CONTINUE)
        verdict = sw_queue(ctx, hop);
    if (verdict == SW_CONTINUE)
        verdict = sw_send(ctx, hop);
    return verdict;
}

static __always_inline int sw_leave_to_kernel(struct xdp_md *ctx, struct sw_hop *hop, __u32 ingress)
{
    const struct mrc_sw_impair_row *link = bpf_map_lookup_elem(&sw_impair, &ingress);
    int verdict;

    if (!link)
        return MRC_SW_PASS_KERNEL;
    verdict = sw_impair_lose(link);
    if (verdict != SW_CONTINUE)
        return verdict;
    sw_impair_corrupt(ctx, link, hop->frame_bytes);
    return MRC_SW_PASS_KERNEL;
}

SEC("xdp.frags")
int switch_port(struct xdp_md *ctx)
{
    const __u32 ingress = sw_receive(ctx);
    struct sw_hop hop = {};
    int verdict = sw_parse(ctx, &hop);

    if (verdict == SW_CONTINUE)
        verdict = forward_in_kernel ? sw_leave_to_kernel(ctx, &hop, ingress) : sw_forward(ctx, &hop, ingress);
    sw_count((__u32)verdict);
    if (verdict == MRC_SW_FORWARDED)
        return XDP_REDIRECT;
    return verdict == MRC_SW_PASS_NOT_USID || verdict == MRC_SW_PASS_KERNEL ? XDP_PASS : XDP_DROP;
}

char switch_license[] SEC("license") = "Dual BSD/GPL";
