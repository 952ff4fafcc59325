/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a path puts in front of an IP packet: Ethernet, and where it is an SRv6 path the outer IPv6 header (RFC 9800
 * carrier, IPv6-in-IPv6, no SRH).
 */
#ifndef MRC_BPF_OUTER_H
#define MRC_BPF_OUTER_H

#include "maps.h"
#include "parse.h"

MRC_USES(ports);
MRC_USES(next_hops);

/* The padding puts the IPv6 header at a multiple of 8, as the verifier wants it on the stack. */
struct pushed_header {
    __u16 padding;
    struct ethhdr eth;
    struct ipv6hdr ip6;
} __attribute__((aligned(8)));
MRC_STATIC_ASSERT(__builtin_offsetof(struct pushed_header, ip6) == 16, "Ethernet and IPv6 header stand side by side");

struct outer_fields {
    __u32 flow_label; /* 20 bits */
    __u16 payload_length;
    __u16 host_usid;
    __u8 tclass;
    __u8 hop_limit;
    __u8 next_header; /* IPPROTO_IPV6 or IPPROTO_IPIP */
};

/* A path's way out, each pointer checked once. */
struct way_out {
    struct mrc_path_row *path;
    struct mrc_port_row *port;
    const struct mrc_next_hop_row *next_hop;
};

static __always_inline int port_usable(const struct mrc_port_row *port)
{
    return (port->flags & MRC_PORT_USABLE) == MRC_PORT_USABLE;
}

/* False: the path's port is out of use, or its next hop not known. */
static __always_inline bool find_way_out(struct way_out *way, struct mrc_path_row *path)
{
    const __u32 port_row = path->port;
    const __u32 next_hop_row = path->next_hop;

    way->path = path;
    way->port = bpf_map_lookup_elem(&ports, &port_row);
    way->next_hop = bpf_map_lookup_elem(&next_hops, &next_hop_row);
    return way->port && port_usable(way->port) && way->next_hop && way->next_hop->resolved;
}

static __always_inline void write_ethernet(struct ethhdr *eth, const struct way_out *way, __u16 protocol)
{
    copy_mac(eth->h_dest, way->next_hop->mac);
    copy_mac(eth->h_source, way->port->mac);
    eth->h_proto = bpf_htons(protocol);
}

/* Ethernet and outer header: of an SRv6 path, and of what sockets send on any. */
static __always_inline void write_outer(const struct headers *headers, const struct way_out *way,
                                        const struct outer_fields *fields)
{
    struct ipv6hdr *ip6 = headers->ip6;
    const struct mrc_ip destination __attribute__((aligned(8))) = mrc_path_destination(way->path, fields->host_usid);

    write_ethernet(headers->eth, way, ETH_P_IPV6);
    *(__be32 *)ip6 = bpf_htonl(6u << 28 | (__u32)fields->tclass << 20 | (fields->flow_label & 0xFFFFF));
    ip6->payload_len = bpf_htons(fields->payload_length);
    ip6->nexthdr = fields->next_header;
    ip6->hop_limit = fields->hop_limit;
    copy_ip(&ip6->saddr, &way->port->address);
    mrc_mark_source(&ip6->saddr, way->path);
    copy_ip(&ip6->daddr, &destination);
}

/* What MRC wears on the path. Leaves the cursor at the packet's own IP header; false: the frame is too short. */
static __always_inline bool write_carrier(struct cursor *cursor, const struct way_out *way,
                                          const struct outer_fields *fields)
{
    struct headers headers;

    if (way->path->kind == MRC_CARRIER_DIRECT) {
        struct ethhdr *eth = take(cursor, sizeof(*eth));

        if (eth)
            write_ethernet(eth, way, fields->next_header == IPPROTO_IPIP ? ETH_P_IP : ETH_P_IPV6);
        return eth != NULL;
    }
    if (!take_headers(cursor, &headers))
        return false;
    write_outer(&headers, way, fields);
    return true;
}

static __always_inline void count_sent(const struct way_out *way, __u32 packets, __u32 bytes, __u64 now)
{
    add(&way->path->tx_packets, packets);
    add(&way->path->tx_bytes, bytes);
    add(&way->port->tx_packets, packets);
    add(&way->port->tx_bytes, bytes);
    way->port->last_tx_ns = now;
}

#endif
