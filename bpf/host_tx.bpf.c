// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * host_tx: ordinary sockets over the fabric. Chooses a path for each packet that the kernel sends on the overlay,
 * pushes the outer header and redirects to the path's port.
 *
 * hook     TC clsact, egress of the overlay device (Ethernet, NOARP, MTU = smallest port MTU - 40)
 * inputs   Ethernet | IPv6 or IPv4 | …, also GSO; `config`
 * outputs  Ethernet | outer IPv6 | inner packet, by redirect to a port's egress. A flow keeps its path; UDP to the MRC
 *          port is sprayed packet by packet. Outer ECN is the inner's (RFC 6040 normal mode), DSCP is never trimmable.
 * maps     reads host, peers; reads paths and ports and writes their transmit counters; writes overlay, verdicts
 * kernel   6.1
 * cost     720 ns where the flow must be hashed, 520 ns where not (sprayed; sockets bring their hash along): single
 *          cold runs, of which about 80 ns are the measuring (tests/bpf/host_tx_test.cpp prints them)
 */
#include <linux/pkt_cls.h>
#include <stdbool.h>

#include "choose_path.h"
#include "outer.h"
#include "parse.h"
#include "rows.h"
#include "verdict.h"

MRC_PEERS(peers);
MRC_ROWS(overlay, struct mrc_overlay_row, MRC_MAX_GROUPS);

const volatile struct mrc_tx_config config = {
    .udp_ports = {MRC_UDP_PORT_ROCE, MRC_UDP_PORT_SPEC},
    .dscp = MRC_DSCP_NO_TRIM,
    .hop_limit = 64,
};

struct tx_packet {
    struct mrc_ip destination __attribute__((aligned(8)));
    __u32 transport; /* offset of the transport header */
    __u8 next_header;
    __u8 protocol; /* transport */
    __u8 ecn;
};

static __always_inline enum mrc_verdict parse_ipv6(struct __sk_buff *skb, struct tx_packet *packet)
{
    struct ipv6hdr ip6 __attribute__((aligned(8)));

    if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip6, sizeof(ip6)))
        return MRC_TX_PASS_NOT_IP;
    copy_ip(&packet->destination, &ip6.daddr);
    packet->transport = ETH_HLEN + sizeof(ip6);
    packet->next_header = IPPROTO_IPV6;
    packet->protocol = ip6.nexthdr;
    packet->ecn = ipv6_tclass(&ip6) & MRC_ECN_MASK;
    return MRC_GO_ON;
}

static __always_inline enum mrc_verdict parse_ipv4(struct __sk_buff *skb, struct tx_packet *packet)
{
    struct iphdr ip4;

    if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip4, sizeof(ip4)))
        return MRC_TX_PASS_NOT_IP;
    map_ipv4(&packet->destination, ip4.daddr);
    packet->transport = ETH_HLEN + ip4.ihl * 4u;
    packet->next_header = IPPROTO_IPIP;
    /* Only a first fragment has ports; all fragments of a flow must take one path. */
    packet->protocol = ip4.frag_off & bpf_htons(0x3FFF) ? IPPROTO_FRAGMENT : ip4.protocol;
    packet->ecn = ip4.tos & MRC_ECN_MASK;
    return MRC_GO_ON;
}

static __always_inline enum mrc_verdict parse(struct __sk_buff *skb, struct tx_packet *packet)
{
    if (skb->protocol == bpf_htons(ETH_P_IPV6))
        return parse_ipv6(skb, packet);
    if (skb->protocol == bpf_htons(ETH_P_IP))
        return parse_ipv4(skb, packet);
    return MRC_TX_PASS_NOT_IP;
}

static __always_inline bool is_sprayed(struct __sk_buff *skb, const struct tx_packet *packet)
{
    struct udphdr udp;

    if (packet->protocol != IPPROTO_UDP || bpf_skb_load_bytes(skb, packet->transport, &udp, sizeof(udp)))
        return false;
    for (int i = 0; i < MRC_RX_UDP_PORTS; i++) {
        if (config.udp_ports[i] && udp.dest == bpf_htons(config.udp_ports[i]))
            return true;
    }
    return false;
}

/*
 * FIXED_GSO: the overlay's MTU leaves room for the outer header, so segments must stay as long as the socket made them;
 * UDP GSO would otherwise be refused, because its segment size is the datagrams' size.
 */
static __always_inline enum mrc_verdict push_outer(struct __sk_buff *skb, const struct outer_header *header)
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

static __always_inline enum mrc_verdict send_on(struct __sk_buff *skb, const struct tx_packet *packet, __u32 row,
                                                __u32 hash, const struct mrc_peer_row *peer, __u32 *ifindex)
{
    const __u32 segments = skb->gso_segs ? skb->gso_segs : 1;
    /* wire_len counts the headers of every segment that GSO will make. */
    const __u32 wire_bytes = skb->wire_len + segments * (__u32)sizeof(struct ipv6hdr);
    const struct outer_fields fields = {
        .flow_label = hash,
        .payload_length = (__u16)(skb->len - ETH_HLEN), /* GSO writes each segment's own */
        .host_usid = peer->host_usid,
        .tclass = MRC_TCLASS(config.dscp, packet->ecn),
        .hop_limit = config.hop_limit,
        .next_header = packet->next_header,
    };
    struct mrc_path_row *path = bpf_map_lookup_elem(&paths, &row);
    struct mrc_port_row *port = path ? port_of(path) : NULL;
    struct outer_header header = {};
    enum mrc_verdict verdict;
    __u64 now;

    if (!port)
        return MRC_TX_DROP_NO_PATH;
    write_outer(&header.eth, &header.ip6, port, path, &fields);
    verdict = push_outer(skb, &header);
    if (verdict != MRC_GO_ON)
        return verdict;
    now = bpf_ktime_get_ns();
    count_sent(port, path, segments, wire_bytes, now);
    note_use(path, peer, now);
    *ifindex = port->ifindex;
    return MRC_TX_PUSHED;
}

static __always_inline enum mrc_verdict transmit(struct __sk_buff *skb, __u32 *ifindex)
{
    struct tx_packet packet = {};
    enum mrc_verdict verdict = parse(skb, &packet);
    const struct mrc_peer_row *peer;
    __u32 hash, row;

    if (verdict != MRC_GO_ON)
        return verdict;
    peer = bpf_map_lookup_elem(&peers, &packet.destination);
    if (!peer)
        return MRC_TX_DROP_NO_PEER;
    hash = is_sprayed(skb, &packet) ? bpf_get_prandom_u32() : bpf_get_hash_recalc(skb);
    row = choose_path(peer, hash);
    if (!row)
        return MRC_TX_DROP_NO_PATH;
    return send_on(skb, &packet, row, hash, peer, ifindex);
}

SEC("tc")
int host_tx(struct __sk_buff *skb)
{
    __u32 ifindex = 0;
    const enum mrc_verdict verdict = transmit(skb, &ifindex);

    count_verdict(verdict);
    switch (verdict) {
    case MRC_TX_PUSHED:
        return (int)bpf_redirect(ifindex, 0);
    case MRC_TX_PASS_NOT_IP:
        return TC_ACT_OK;
    default:
        return TC_ACT_SHOT;
    }
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
