/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pushing SRv6: Ethernet and outer IPv6 header (RFC 9800 carrier, IPv6-in-IPv6, no SRH) in front of an IP packet. */
#ifndef MRC_BPF_OUTER_H
#define MRC_BPF_OUTER_H

#include "maps.h"
#include "parse.h"

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

static __always_inline void write_outer(const struct headers *headers, const struct mrc_port_row *port,
                                        const struct mrc_path_row *path, const struct outer_fields *fields)
{
    struct ethhdr *eth = headers->eth;
    struct ipv6hdr *ip6 = headers->ip6;
    const struct mrc_ip destination __attribute__((aligned(8))) = mrc_path_destination(path, fields->host_usid);

    copy_mac(eth->h_dest, port->gateway_mac);
    copy_mac(eth->h_source, port->mac);
    eth->h_proto = bpf_htons(ETH_P_IPV6);
    *(__be32 *)ip6 = bpf_htonl(6u << 28 | (__u32)fields->tclass << 20 | (fields->flow_label & 0xFFFFF));
    ip6->payload_len = bpf_htons(fields->payload_length);
    ip6->nexthdr = fields->next_header;
    ip6->hop_limit = fields->hop_limit;
    copy_ip(&ip6->saddr, &port->outer_source);
    copy_ip(&ip6->daddr, &destination);
}

static __always_inline int port_usable(const struct mrc_port_row *port)
{
    return (port->flags & MRC_PORT_USABLE) == MRC_PORT_USABLE;
}

static __always_inline void count_sent(struct mrc_port_row *port, struct mrc_path_row *path, __u32 packets, __u32 bytes,
                                       __u64 now)
{
    add(&path->tx_packets, packets);
    add(&path->tx_bytes, bytes);
    add(&port->tx_packets, packets);
    add(&port->tx_bytes, bytes);
    port->last_tx_ns = now;
}

#endif
