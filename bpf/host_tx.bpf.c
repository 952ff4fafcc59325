// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * host_tx: ordinary sockets over the fabric. Chooses a path for each packet that the kernel sends on the overlay,
 * pushes the outer header and redirects to the path's port.
 *
 * hook     TC clsact, egress of the overlay device (Ethernet, NOARP, MTU = smallest port MTU - 40)
 * inputs   Ethernet | IPv6 or IPv4 | …, also GSO; `config`
 * outputs  Ethernet | outer IPv6 | inner packet, by redirect to a port's egress. A flow keeps its path. Outer ECN is
 *          the inner's (RFC 6040 normal mode), DSCP is never trimmable. UDP to MRC's ports is dropped: no user of this
 *          host may speak MRC in the daemon's place. With config.mrc_from_sockets it is sprayed packet by packet.
 * maps     reads host, peers, next_hops; reads paths and ports and writes their transmit counters; writes overlay,
 *          verdicts; of what it drops, drops, events and their number in host; while mrcctl captures, capture_ring and
 *          capture_slots
 * kernel   6.1
 * cost     720 ns where the flow must be hashed, 520 ns where not (sprayed; sockets bring their hash along): single
 *          cold runs, of which about 80 ns are the measuring (tests/bpf/host_tx_test.cpp prints them)
 */
#include <linux/pkt_cls.h>

#include "capture.h"
#include "choose_path.h"
#include "drops.h"
#include "maps.h"
#include "outer.h"
#include "parse.h"
#include "verdict.h"

MRC_USES(peers);
MRC_USES(overlay);

const volatile struct mrc_tx_config config = {
    .dscp = MRC_DSCP_NO_TRIM,
    .hop_limit = 64,
};

/* The longest chain of headers that is looked for outside of a packet's linear part. */
#define MRC_TX_HEADERS 2048

struct tx_packet {
    struct parsed_ip ip __attribute__((aligned(8)));
    bool mrc; /* UDP to one of MRC's ports */
};

/*
 * A later fragment has no ports and passes: what can put it together has not got the first one. Where the transport
 * header cannot be found, or a UDP header is not all there, it is not known what the packet is, and it is dropped: a
 * receiver might find MRC in it.
 */
__noinline enum mrc_verdict parse_headers(struct __sk_buff *skb, struct tx_packet *packet)
{
    struct cursor cursor = MRC_CURSOR(skb);
    const struct ethhdr *eth = take(&cursor, sizeof(*eth));
    const struct udphdr *udp;

    if (!packet || !eth)
        return MRC_TX_DROP_HEADERS;
    packet->ip.ipv4 = eth->h_proto == bpf_htons(ETH_P_IP);
    if (!packet->ip.ipv4 && eth->h_proto != bpf_htons(ETH_P_IPV6))
        return MRC_TX_PASS_NOT_IP;
    if (!parse_ip(&cursor, &packet->ip) || !find_transport(&cursor, &packet->ip))
        return MRC_TX_DROP_HEADERS;
    if (packet->ip.protocol != IPPROTO_UDP || packet->ip.fragment == MRC_LATER_FRAGMENT)
        return MRC_GO_ON;
    udp = take(&cursor, sizeof(*udp));
    if (!udp)
        return MRC_TX_DROP_HEADERS;
    packet->mrc = is_mrc_port(udp->dest);
    return MRC_GO_ON;
}

/* Sockets leave their headers in the linear part; what comes from another device or a raw socket need not. */
static __always_inline enum mrc_verdict parse(struct __sk_buff *skb, struct tx_packet *packet)
{
    const enum mrc_verdict verdict = parse_headers(skb, packet);

    if (verdict != MRC_TX_DROP_HEADERS || bpf_skb_pull_data(skb, skb->len < MRC_TX_HEADERS ? skb->len : MRC_TX_HEADERS))
        return verdict;
    *packet = (struct tx_packet){};
    return parse_headers(skb, packet);
}

/*
 * FIXED_GSO: the overlay's MTU leaves room for the outer header, so segments must stay as long as the socket made them;
 * UDP GSO would otherwise be refused, because its segment size is the datagrams' size.
 */
static __always_inline enum mrc_verdict push_outer(struct __sk_buff *skb, const struct pushed_header *header)
{
    if (bpf_skb_adjust_room(skb, sizeof(struct ipv6hdr), BPF_ADJ_ROOM_MAC,
                            BPF_F_ADJ_ROOM_ENCAP_L3_IPV6 | BPF_F_ADJ_ROOM_FIXED_GSO))
        return MRC_TX_DROP_RESIZE;
    if (bpf_skb_store_bytes(skb, 0, &header->eth, MRC_OUTER_BYTES, 0))
        return MRC_TX_DROP_RESIZE;
    return MRC_GO_ON;
}

/* Tells the agent which paths are in use. Flows overwrite each other: any peer that is sent to will do. */
static __always_inline void note_use(const struct mrc_path_row *path, const struct mrc_peer_row *peer, __u64 now)
{
    const __u32 row = path->group;
    struct mrc_overlay_row *use = bpf_map_lookup_elem(&overlay, &row);

    if (!use)
        return;
    use->last_tx_ns = now;
    use->host_usid = peer->host_usid;
}

/* The packet as it goes to the port. Segments that the kernel will make of it are one packet here. */
static __always_inline void capture_sent(struct __sk_buff *skb, const struct tx_packet *packet, __u8 port)
{
    struct capture_request request = {.point = MRC_CAPTURE_OVERLAY, .port = port};

    if (packet->mrc)
        request.bth_at = bth_behind(MRC_OUTER_BYTES, packet->ip.ipv4);
    capture(skb, &request, MRC_TX_PUSHED);
}

static __always_inline enum mrc_verdict send_on(struct __sk_buff *skb, const struct tx_packet *packet,
                                                const struct way_out *way, __u32 hash, const struct mrc_peer_row *peer,
                                                __u32 *ifindex)
{
    const __u32 segments = skb->gso_segs ? skb->gso_segs : 1;
    /* wire_len counts the headers of every segment that GSO will make. */
    const __u32 wire_bytes = skb->wire_len + segments * (__u32)sizeof(struct ipv6hdr);
    const struct outer_fields fields = {
        .flow_label = hash,
        .payload_length = (__u16)(skb->len - ETH_HLEN), /* GSO writes each segment's own */
        .host_usid = peer->host_usid,
        .tclass = MRC_TCLASS(config.dscp, packet->ip.tclass & MRC_ECN_MASK),
        .hop_limit = config.hop_limit,
        .next_header = packet->ip.ipv4 ? IPPROTO_IPIP : IPPROTO_IPV6,
    };
    struct pushed_header header = {};
    const struct headers headers = {.eth = &header.eth, .ip6 = &header.ip6};
    __u64 now;

    write_outer(&headers, way, &fields);
    MRC_STEP(push_outer(skb, &header));
    now = bpf_ktime_get_ns();
    count_sent(way, segments, wire_bytes, now);
    note_use(way->path, peer, now);
    *ifindex = way->port->ifindex;
    if (is_capturing())
        capture_sent(skb, packet, way->path->port);
    return MRC_TX_PUSHED;
}

static __always_inline enum mrc_verdict transmit(struct __sk_buff *skb, struct tx_packet *packet, __u32 *ifindex)
{
    const struct mrc_peer_row *peer;
    struct way_out way;
    __u32 hash;

    MRC_STEP(parse(skb, packet));
    if (packet->mrc && !config.mrc_from_sockets)
        return MRC_TX_DROP_MRC_PORT;
    peer = bpf_map_lookup_elem(&peers, &packet->ip.destination);
    if (!peer)
        return MRC_TX_DROP_NO_PEER;
    /* All fragments of a flow must take one path, and only the first has ports. */
    hash = packet->mrc && packet->ip.fragment == MRC_NO_FRAGMENT ? bpf_get_prandom_u32() : bpf_get_hash_recalc(skb);
    if (!choose_path(&way, peer, hash))
        return MRC_TX_DROP_NO_PATH;
    return send_on(skb, packet, &way, hash, peer, ifindex);
}

static __always_inline void note_drop(const struct tx_packet *packet, enum mrc_verdict verdict)
{
    struct dropped_packet dropped = {
        .address = packet->ip.destination,
        .verdict = verdict,
        .port = MRC_DROP_NO_PORT,
    };

    count_drop(&dropped);
}

SEC("tc")
int host_tx(struct __sk_buff *skb)
{
    struct tx_packet packet = {};
    __u32 ifindex = 0;
    const enum mrc_verdict verdict = transmit(skb, &packet, &ifindex);

    count_verdict(verdict);
    switch (verdict) {
    case MRC_TX_PUSHED:
        return (int)bpf_redirect(ifindex, 0);
    case MRC_TX_PASS_NOT_IP:
        return TC_ACT_OK;
    default:
        note_drop(&packet, verdict);
        return TC_ACT_SHOT;
    }
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
