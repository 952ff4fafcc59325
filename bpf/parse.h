/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parsing, the same for all programs. Cursor-style: take() returns the next header, or NULL when it would pass the end
 * of the bytes present. Length fields are never trusted: trimming leaves them longer than the packet.
 *
 *   take_headers()    Ethernet and the IPv6 header behind it: what carriers begin with
 *   parse_ip()        one IP header of either family
 *   find_transport()  from there over IPv4 options or IPv6 extension headers to the transport header
 */
#ifndef MRC_BPF_PARSE_H
#define MRC_BPF_PARSE_H

#include <linux/bpf.h>
#include <linux/icmpv6.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "mrc/abi/maps.h"

struct cursor {
    void *at;
    void *end;
};

/* Of an XDP frame, or of the linear part of a TC packet. */
#define MRC_CURSOR(ctx) ((struct cursor){.at = (void *)(long)(ctx)->data, .end = (void *)(long)(ctx)->data_end})

static __always_inline void *take(struct cursor *cursor, __u32 bytes)
{
    void *header = cursor->at;

    if (header + bytes > cursor->end)
        return NULL;
    cursor->at = header + bytes;
    return header;
}

struct headers {
    struct ethhdr *eth;
    struct ipv6hdr *ip6;
};

/* To be taken again after everything that moves or resizes the packet. */
static __always_inline bool take_headers(struct cursor *cursor, struct headers *headers)
{
    headers->eth = take(cursor, sizeof(*headers->eth));
    headers->ip6 = take(cursor, sizeof(*headers->ip6));
    return headers->eth && headers->ip6;
}

static __always_inline void copy_mac(__u8 *to, const __u8 *from)
{
    __u16 *out = (__u16 *)to;
    const __u16 *in = (const __u16 *)from;

    out[0] = in[0];
    out[1] = in[1];
    out[2] = in[2];
}

static __always_inline __u8 ipv6_tclass(const struct ipv6hdr *ip6)
{
    return (__u8)(ip6->priority << 4 | ip6->flow_lbl[0] >> 4);
}

static __always_inline void ipv6_set_tclass(struct ipv6hdr *ip6, __u8 tclass)
{
    ip6->priority = tclass >> 4;
    ip6->flow_lbl[0] = (__u8)((ip6->flow_lbl[0] & 0x0F) | tclass << 4);
}

static __always_inline __u32 ipv6_flow_label(const struct ipv6hdr *ip6)
{
    return mrc_get24(ip6->flow_lbl) & 0xFFFFF;
}

/* Of the halves of an address in network byte order: ones for so many bytes at its beginning, 0 to 8. */
static __always_inline __u64 first_bytes(__u32 count)
{
    return count ? bpf_cpu_to_be64(~0ull << (64 - 8 * count)) : 0;
}

/* By two words, for addresses anywhere in a packet; on the stack and in maps they stand at multiples of 8. */
static __always_inline bool same_ip(const volatile void *a, const volatile void *b)
{
    const volatile __u64 *left = a;
    const volatile __u64 *right = b;

    return left[0] == right[0] && left[1] == right[1];
}

static __always_inline void copy_ip(void *to, const void *from)
{
    __u64 *out = to;
    const __u64 *in = from;

    out[0] = in[0];
    out[1] = in[1];
}

static __always_inline void map_ipv4(struct mrc_ip *to, __be32 address)
{
    __u32 *out = (__u32 *)to->bytes;

    out[0] = 0;
    out[1] = 0;
    out[2] = bpf_htonl(0x0000FFFF);
    out[3] = address;
}

enum ip_fragment {
    MRC_NO_FRAGMENT,
    MRC_FIRST_FRAGMENT,
    MRC_LATER_FRAGMENT, /* has no transport header */
};

#define MRC_IPV4_OFFSET 0x1FFF
#define MRC_IPV4_MORE 0x2000
#define MRC_IPV6_OFFSET 0xFFF8
#define MRC_IPV6_MORE 0x0001

struct parsed_ip {
    struct mrc_ip source; /* IPv4 as ::ffff:a.b.c.d */
    struct mrc_ip destination;
    __u32 flow_label; /* 0: IPv4 */
    __u16 options;    /* bytes behind an IPv4 header */
    __u8 tclass;
    __u8 protocol; /* of what follows: extension headers too, until find_transport() */
    __u8 fragment; /* enum ip_fragment; in IPv6 known after find_transport() */
    bool ipv4;
};

static __always_inline enum ip_fragment fragment_of(__u16 flags, __u16 offset, __u16 more)
{
    if (flags & offset)
        return MRC_LATER_FRAGMENT;
    return flags & more ? MRC_FIRST_FRAGMENT : MRC_NO_FRAGMENT;
}

static __always_inline bool parse_ipv4(struct cursor *cursor, struct parsed_ip *ip)
{
    const struct iphdr *ip4 = take(cursor, sizeof(*ip4));

    if (!ip4 || ip4->version != 4 || ip4->ihl < 5)
        return false;
    map_ipv4(&ip->source, ip4->saddr);
    map_ipv4(&ip->destination, ip4->daddr);
    ip->options = (__u16)(ip4->ihl * 4u - sizeof(*ip4));
    ip->tclass = ip4->tos;
    ip->protocol = ip4->protocol;
    ip->fragment = (__u8)fragment_of(bpf_ntohs(ip4->frag_off), MRC_IPV4_OFFSET, MRC_IPV4_MORE);
    return true;
}

/* False: cut short, or of another version than `ip->ipv4`, which the header in front has told, says. */
static __always_inline bool parse_ip(struct cursor *cursor, struct parsed_ip *ip)
{
    const struct ipv6hdr *ip6;

    if (ip->ipv4)
        return parse_ipv4(cursor, ip);
    ip6 = take(cursor, sizeof(*ip6));
    if (!ip6 || ip6->version != 6)
        return false;
    copy_ip(&ip->source, &ip6->saddr);
    copy_ip(&ip->destination, &ip6->daddr);
    ip->flow_label = ipv6_flow_label(ip6);
    ip->tclass = ipv6_tclass(ip6);
    ip->protocol = ip6->nexthdr;
    return true;
}

/* RFC 8200 section 4.1 has no more of them in one packet. */
#define MRC_IPV6_EXTENSIONS 6

/* By a mask, one branch for all of them: the verifier follows every way through the chain. */
#define MRC_IPV6_EXTENSION_MASK                                                                                        \
    (1ull << IPPROTO_HOPOPTS | 1ull << IPPROTO_ROUTING | 1ull << IPPROTO_FRAGMENT | 1ull << IPPROTO_AH |               \
     1ull << IPPROTO_DSTOPTS)

static __always_inline bool is_extension(__u8 protocol)
{
    return protocol < 64 && MRC_IPV6_EXTENSION_MASK >> protocol & 1;
}

/* Takes one extension header and notes what follows. All begin with the next header and are 8 bytes at least. */
static __always_inline bool take_extension(struct cursor *cursor, struct parsed_ip *ip)
{
    const __u8 *extension = take(cursor, 8);
    const __u8 kind = ip->protocol;
    __u32 more;

    if (!extension)
        return false;
    ip->protocol = extension[0];
    if (kind == IPPROTO_FRAGMENT) {
        ip->fragment = (__u8)fragment_of((__u16)(extension[2] << 8 | extension[3]), MRC_IPV6_OFFSET, MRC_IPV6_MORE);
        return true;
    }
    more = kind == IPPROTO_AH ? extension[1] * 4u : extension[1] * 8u;
    return take(cursor, more) != NULL;
}

/* False: the chain is cut short or too long. A later fragment has no transport header: the cursor ends at its data. */
static __always_inline bool find_transport(struct cursor *cursor, struct parsed_ip *ip)
{
    if (ip->ipv4)
        return take(cursor, ip->options & 63) != NULL;
    for (int i = 0; i < MRC_IPV6_EXTENSIONS; i++) {
        if (!is_extension(ip->protocol) || ip->fragment == MRC_LATER_FRAGMENT)
            return true;
        if (!take_extension(cursor, ip))
            return false;
    }
    return !is_extension(ip->protocol);
}

/* Decision D1: MRC is received on both, whichever this host sends to. */
static __always_inline bool is_mrc_port(__be16 destination)
{
    return destination == bpf_htons(MRC_UDP_PORT_ROCE) || destination == bpf_htons(MRC_UDP_PORT_SPEC);
}

#endif
