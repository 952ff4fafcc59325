/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a received packet is: the outer header, the inner address and ports, and for MRC the operation and its sender's
 * claims. Reads the packet, changes nothing.
 */
#ifndef MRC_BPF_CLASSIFY_H
#define MRC_BPF_CLASSIFY_H

#include "maps.h"
#include "parse.h"
#include "verdict.h"

MRC_USES(peers);

const volatile struct mrc_rx_config config = {
    .dscp_trimmed = MRC_DSCP_TRIMMED,
    .dscp_trimmed_lasthop = MRC_DSCP_TRIMMED_LASTHOP,
    .dscp_control = MRC_DSCP_CONTROL,
};

/* What SACK and NACK say about an earlier packet of ours. */
struct rx_echo {
    __u32 ev;
    __u16 timestamp; /* reflected, ticks of 128 ns; 0: the packet carried none */
    __u8 congested;
    __u8 trimmed;
};

/* How far the copying of a packet for `mrcctl capture` is. */
enum rx_capture {
    MRC_CAPTURE_OFF,
    MRC_CAPTURE_PENDING, /* wanted, if the filter lets it pass */
    MRC_CAPTURE_TRIED,
};

struct rx_packet {
    struct parsed_ip inner __attribute__((aligned(8))); /* the only one when nothing encapsulates it */
    __u64 now;
    __u64 copy; /* number of its slot in `capture_slots`; 0: there is none */
    const struct mrc_peer_row *peer;
    struct rx_echo echo;
    __u32 frame_bytes; /* as it arrived */
    __u32 length;      /* from Ethernet on, without the outer header */
    __u32 ev;
    __u32 dqp;
    __u32 qp_row;
    __u32 path;
    __u32 carrier; /* direct: who has encapsulated it, as in struct mrc_peer_row */
    __u8 outer_tclass;
    __u8 kind;    /* enum mrc_rx_kind */
    __u8 flags;   /* enum mrc_rx_flags */
    __u8 capture; /* enum rx_capture */
    __u8 worker;  /* whose socket it goes to */
    bool encapsulated;
    bool mrc;
    bool loop; /* UDP right behind the outer header, to our uSID: the fabric map's, or nobody's */
};

static __always_inline bool is_endpoint_operation(__u8 kind)
{
    return kind == MRC_KIND_ENDPOINT_REQUEST || kind == MRC_KIND_ENDPOINT_RESPONSE;
}

/* Which destinations in the uSID block are whose. */
enum usid_owner {
    USID_FOREIGN,  /* not in the block */
    USID_OTHER,    /* another node's is active */
    USID_OWN_LEFT, /* ours is active, with bits behind it: the next uSID, or arguments that we never send */
    USID_OWN,      /* ours, and nothing else */
};

/* `outer` is the block, our uSID and zeros: what arrives on a path is the same. */
static __always_inline enum usid_owner usid_owner_of(const struct ipv6hdr *ip6)
{
    const struct mrc_carrier *carrier = (const struct mrc_carrier *)&ip6->daddr;
    const __u64 block = *(const __u64 *)&ip6->daddr ^ *(const volatile __u64 *)config.outer.bytes;
    const __u32 at = mrc_usid_offset(config.block_bytes, 0);

    if (same_ip(&config.outer, &ip6->daddr))
        return USID_OWN;
    if (block & first_bytes(config.block_bytes & 15))
        return USID_FOREIGN;
    return mrc_usid_at(carrier, config.block_bytes, 0) == (config.outer.bytes[at] << 8 | config.outer.bytes[at + 1])
               ? USID_OWN_LEFT
               : USID_OTHER;
}

static __always_inline void note_outer(struct rx_packet *packet, const struct ipv6hdr *ip6)
{
    packet->encapsulated = true;
    packet->flags |= MRC_RX_ENCAPSULATED;
    packet->inner.ipv4 = ip6->nexthdr == IPPROTO_IPIP;
    packet->outer_tclass = ipv6_tclass(ip6);
    packet->length -= sizeof(*ip6);
}

/*
 * In direct mode only what sockets send is encapsulated, for this host's address on the plane, and only a peer may do
 * so: the network may be anybody's. Everything else stands by itself.
 */
static __always_inline enum mrc_verdict parse_direct(struct cursor *cursor, struct rx_packet *packet,
                                                     const struct cursor *at_network, const struct ipv6hdr *ip6)
{
    const struct mrc_peer_row *peer;

    if ((ip6->nexthdr != IPPROTO_IPV6 && ip6->nexthdr != IPPROTO_IPIP) || !same_ip(&config.outer, &ip6->daddr)) {
        *cursor = *at_network;
        return MRC_GO_ON;
    }
    peer = bpf_map_lookup_elem(&peers, &ip6->saddr);
    if (!peer)
        return MRC_RX_DROP_UNKNOWN_PEER;
    packet->carrier = peer->sender;
    note_outer(packet, ip6);
    return MRC_GO_ON;
}

/* Leaves the cursor at the IP header that decides: the inner one, or the only one. */
static __always_inline enum mrc_verdict parse_outer(struct cursor *cursor, struct rx_packet *packet)
{
    const struct ethhdr *eth = take(cursor, sizeof(*eth));
    const struct cursor at_network = *cursor;
    const struct ipv6hdr *ip6;
    enum usid_owner owner;

    if (!eth)
        return MRC_RX_PASS_MALFORMED;
    packet->length = packet->frame_bytes;
    packet->inner.ipv4 = eth->h_proto == bpf_htons(ETH_P_IP);
    if (packet->inner.ipv4)
        return MRC_GO_ON;
    if (eth->h_proto != bpf_htons(ETH_P_IPV6))
        return MRC_RX_PASS_NOT_OURS;
    ip6 = take(cursor, sizeof(*ip6));
    if (!ip6 || ip6->version != 6)
        return MRC_RX_PASS_MALFORMED;
    if (config.carrier == MRC_CARRIER_DIRECT)
        return parse_direct(cursor, packet, &at_network, ip6);
    owner = usid_owner_of(ip6);
    if (owner == USID_FOREIGN) {
        *cursor = at_network;
        return MRC_GO_ON;
    }
    if (!config.fabric)
        return MRC_RX_DROP_NOT_FABRIC;
    if (owner == USID_OTHER)
        return MRC_RX_PASS_NOT_OURS;
    if (owner == USID_OWN_LEFT)
        return MRC_RX_DROP_CARRIER_LEFT;
    packet->loop = ip6->nexthdr == IPPROTO_UDP;
    if (packet->loop)
        return MRC_GO_ON;
    if (ip6->nexthdr != IPPROTO_IPV6 && ip6->nexthdr != IPPROTO_IPIP)
        return MRC_RX_DROP_INNER;
    note_outer(packet, ip6);
    return MRC_GO_ON;
}

static __always_inline enum mrc_verdict parse_inner(struct cursor *cursor, struct rx_packet *packet)
{
    if (parse_ip(cursor, &packet->inner))
        return MRC_GO_ON;
    return packet->encapsulated ? MRC_RX_DROP_INNER : MRC_RX_PASS_MALFORMED;
}

static __always_inline bool is_our_address(const struct mrc_ip *address)
{
    for (int i = 0; i < MRC_RX_ADDRESSES; i++) {
        if (i >= config.address_count)
            break;
        if (same_ip(&config.addresses[i], address))
            return true;
    }
    return false;
}

/*
 * MRC is: UDP to its port, an opcode of its service, and, as the caller has to check, an address of ours (decision D1).
 * It carries no extension headers or IP options and is never fragmented. The cursor ends at the BTH.
 */
static __always_inline bool is_mrc(struct cursor *cursor, struct rx_packet *packet)
{
    const struct parsed_ip *inner = &packet->inner;
    const struct udphdr *udp = take(cursor, sizeof(*udp));
    struct cursor ahead = *cursor;
    const __u8 *opcode = take(&ahead, sizeof(*opcode));

    if (inner->protocol != IPPROTO_UDP || inner->options || inner->fragment != MRC_NO_FRAGMENT)
        return false;
    if (!udp || !opcode || !is_mrc_port(udp->dest) || (*opcode & MRC_OP_SERVICE_MASK) != MRC_OP_SERVICE)
        return false;
    packet->ev = mrc_ev_from_packet(inner->flow_label, bpf_ntohs(udp->source));
    return true;
}

static __always_inline void classify_marks(struct rx_packet *packet)
{
    const __u8 outer = packet->outer_tclass >> 2;
    const __u8 inner = packet->inner.tclass >> 2;

    if ((packet->outer_tclass & MRC_ECN_MASK) == MRC_ECN_CE || (packet->inner.tclass & MRC_ECN_MASK) == MRC_ECN_CE)
        packet->flags |= MRC_RX_CE;
    if (outer == config.dscp_trimmed_lasthop || inner == config.dscp_trimmed_lasthop)
        packet->flags |= MRC_RX_TRIMMED | MRC_RX_LAST_HOP;
    else if (outer == config.dscp_trimmed || inner == config.dscp_trimmed)
        packet->flags |= MRC_RX_TRIMMED;
}

/* Whole headers and the ICRC must be there; a trimmed packet keeps only what a NACK needs. */
static __always_inline enum mrc_verdict classify_data(struct cursor *cursor, struct rx_packet *packet, __u8 opcode,
                                                      __u8 control)
{
    const __u32 present = (__u32)(cursor->end - cursor->at);
    __u32 needed = sizeof(struct mrc_meth);

    packet->kind = MRC_KIND_DATA;
    if (control & MRC_BTH_TS)
        needed += sizeof(struct mrc_tseth);
    if (packet->flags & MRC_RX_TRIMMED)
        return present < needed ? MRC_RX_DROP_BAD_MRC : MRC_GO_ON;
    needed += sizeof(struct mrc_reth) + MRC_ICRC_LEN;
    if (opcode == MRC_OP_WRITE_LAST_IMM || opcode == MRC_OP_WRITE_ONLY_IMM)
        needed += sizeof(struct mrc_immdt);
    return present < needed ? MRC_RX_DROP_BAD_MRC : MRC_GO_ON;
}

static __always_inline enum mrc_verdict classify_sack(struct cursor *cursor, struct rx_packet *packet)
{
    const struct mrc_seth *seth = take(cursor, sizeof(*seth));
    const struct mrc_cc_state *cc = take(cursor, sizeof(*cc));

    packet->kind = MRC_KIND_SACK;
    if (!seth || !cc || !take(cursor, MRC_ICRC_LEN))
        return MRC_RX_DROP_BAD_MRC;
    packet->echo.ev = bpf_ntohl(seth->entropy);
    packet->echo.congested = (bpf_ntohs(seth->flags) & MRC_SETH_M_MASK) >> MRC_SETH_M_SHIFT == MRC_SACK_M_SKIP_ONCE;
    if (seth->cc >> MRC_CC_TYPE_SHIFT == MRC_CC_TYPE_STATE)
        packet->echo.timestamp = bpf_ntohs(cc->tx_timestamp);
    return MRC_GO_ON;
}

static __always_inline enum mrc_verdict classify_nack(struct cursor *cursor, struct rx_packet *packet)
{
    const struct mrc_neth *neth = take(cursor, sizeof(*neth));

    packet->kind = MRC_KIND_NACK;
    if (!neth || !take(cursor, MRC_ICRC_LEN))
        return MRC_RX_DROP_BAD_MRC;
    packet->echo.ev = bpf_ntohl(neth->entropy);
    packet->echo.timestamp = bpf_ntohs(neth->tx_timestamp);
    packet->echo.trimmed = neth->reason == MRC_NACK_TRIMMED || neth->reason == MRC_NACK_TRIMMED_LASTHOP;
    return MRC_GO_ON;
}

static __always_inline enum mrc_verdict classify_fixed(struct cursor *cursor, struct rx_packet *packet,
                                                       enum mrc_rx_kind kind, __u32 header_bytes)
{
    packet->kind = (__u8)kind;
    return take(cursor, header_bytes + MRC_ICRC_LEN) ? MRC_GO_ON : MRC_RX_DROP_BAD_MRC;
}

static __always_inline enum mrc_verdict classify_endpoint(struct cursor *cursor, struct rx_packet *packet,
                                                          enum mrc_rx_kind kind, __u32 header_bytes)
{
    if (packet->dqp != MRC_QPN_ENDPOINT)
        return MRC_RX_DROP_BAD_MRC;
    return classify_fixed(cursor, packet, kind, header_bytes);
}

/* The request id stands where a queue pair's packet has its PSN. */
static __always_inline __u8 asking_worker(const struct mrc_bth *bth)
{
    const __u32 id = mrc_get24(bth->psn) & 0xFFFF;

    return (__u8)MRC_ASKING_WORKER(id, config.asker_mask);
}

/* Behind a trimmed control packet stands nothing that may be believed, and it is never answered: it is dropped. */
static __always_inline enum mrc_verdict classify(struct cursor *cursor, struct rx_packet *packet)
{
    const struct mrc_bth *bth = take(cursor, sizeof(*bth));

    classify_marks(packet);
    if (!bth)
        return MRC_RX_DROP_BAD_MRC;
    packet->dqp = mrc_get24(bth->dqp);
    if (bth->opcode >= MRC_OP_WRITE_FIRST && bth->opcode <= MRC_OP_WRITE_ONLY_IMM)
        return classify_data(cursor, packet, bth->opcode, bth->control);
    if (packet->flags & MRC_RX_TRIMMED)
        return MRC_RX_DROP_BAD_MRC;
    switch (bth->opcode) {
    case MRC_OP_ACKNOWLEDGE:
        return classify_fixed(cursor, packet, MRC_KIND_ACK, sizeof(struct mrc_aeth));
    case MRC_OP_SACK:
        return classify_sack(cursor, packet);
    case MRC_OP_NACK:
        return classify_nack(cursor, packet);
    case MRC_OP_PROBE_REQUEST:
        return classify_fixed(cursor, packet, MRC_KIND_PROBE, sizeof(struct mrc_peth));
    case MRC_OP_ENDPOINT_REQUEST:
        return classify_endpoint(cursor, packet, MRC_KIND_ENDPOINT_REQUEST, sizeof(struct mrc_erth));
    case MRC_OP_ENDPOINT_RESPONSE:
        packet->worker = asking_worker(bth);
        return classify_endpoint(cursor, packet, MRC_KIND_ENDPOINT_RESPONSE, sizeof(struct mrc_eeth));
    default:
        return MRC_RX_DROP_BAD_MRC;
    }
}

#endif
