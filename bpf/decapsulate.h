/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Taking the outer header off, and what must not reach the kernel from under one. That the packet is for one of this
 * host's addresses the caller has checked.
 */
#ifndef MRC_BPF_DECAPSULATE_H
#define MRC_BPF_DECAPSULATE_H

#include "classify.h"
#include "ecn.h"

/* ICMPv6 types of neighbour discovery, from router solicitation to redirect (RFC 4861). */
#define MRC_ND_FIRST 133
#define MRC_ND_LAST 137

/*
 * Moves the Ethernet header over the outer IPv6 header, if there is one, and leaves room in front of it. Every pointer
 * into the packet is stale afterwards.
 */
static __always_inline enum mrc_verdict pop(struct xdp_md *ctx, const struct rx_packet *packet, __u32 room)
{
    const int outer_bytes = packet->encapsulated ? (int)sizeof(struct ipv6hdr) : 0;
    struct cursor cursor = MRC_CURSOR(ctx);
    struct ethhdr *eth = take(&cursor, sizeof(*eth));
    struct ethhdr moved;

    if (!eth)
        return MRC_RX_DROP_RESIZE;
    moved = *eth;
    moved.h_proto = bpf_htons(packet->inner.ipv4 ? ETH_P_IP : ETH_P_IPV6);
    if (bpf_xdp_adjust_head(ctx, outer_bytes - (int)room))
        return MRC_RX_DROP_RESIZE;
    cursor = MRC_CURSOR(ctx);
    if (!take(&cursor, room))
        return MRC_RX_DROP_RESIZE;
    eth = take(&cursor, sizeof(*eth));
    if (!eth)
        return MRC_RX_DROP_RESIZE;
    *eth = moved;
    return MRC_GO_ON;
}

/*
 * Neighbour discovery belongs to one link: its hop limit of 255 proves that no router has forwarded it, and under an
 * outer header it proves nothing. It is looked for behind extension headers, as the kernel looks. A function of its
 * own, which the verifier follows once: a chain of extension headers has many ways through.
 */
__noinline enum mrc_verdict refuse_neighbour_discovery(struct xdp_md *ctx, struct parsed_ip *inner)
{
    struct cursor cursor = MRC_CURSOR(ctx);
    const __u8 *type;

    if (!inner || !take(&cursor, MRC_OUTER_BYTES + sizeof(struct ipv6hdr)) || !find_transport(&cursor, inner))
        return MRC_RX_DROP_INNER;
    if (inner->protocol != IPPROTO_ICMPV6 || inner->fragment == MRC_LATER_FRAGMENT)
        return MRC_GO_ON;
    type = take(&cursor, sizeof(*type));
    if (!type)
        return MRC_RX_DROP_INNER;
    return *type >= MRC_ND_FIRST && *type <= MRC_ND_LAST ? MRC_RX_DROP_NEIGHBOUR : MRC_GO_ON;
}

/* ECN of a popped packet that goes to the kernel, written into the inner header where it still stands. */
static __always_inline enum mrc_verdict ecn_inward(struct xdp_md *ctx, const struct rx_packet *packet)
{
    const __u8 inner = packet->inner.tclass;
    const int ecn = ecn_decapsulate(packet->outer_tclass, inner);
    const __u8 tclass = (__u8)((inner & ~MRC_ECN_MASK) | ecn);
    struct cursor cursor = MRC_CURSOR(ctx);

    if (ecn == MRC_ECN_DROP)
        return MRC_RX_DROP_CE_NOT_ECT;
    if (tclass == inner)
        return MRC_GO_ON;
    if (!take(&cursor, MRC_OUTER_BYTES))
        return MRC_RX_DROP_INNER;
    if (packet->inner.ipv4) {
        struct iphdr *ip4 = take(&cursor, sizeof(*ip4));

        if (ip4)
            ipv4_set_tclass(ip4, tclass);
    } else {
        struct ipv6hdr *ip6 = take(&cursor, sizeof(*ip6));

        if (ip6)
            ipv6_set_tclass(ip6, tclass);
    }
    return MRC_GO_ON;
}

#endif
