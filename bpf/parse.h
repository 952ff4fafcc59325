/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cursor-style parsing: take() returns the next header, or NULL when it would pass the end of the bytes present. Length
 * fields are never trusted: trimming leaves them longer than the packet.
 */
#ifndef MRC_BPF_PARSE_H
#define MRC_BPF_PARSE_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "mrc/abi/maps.h"

struct cursor {
    void *at;
    void *end;
};

static __always_inline struct cursor packet_cursor(const struct xdp_md *ctx)
{
    return (struct cursor){.at = (void *)(long)ctx->data, .end = (void *)(long)ctx->data_end};
}

static __always_inline void *take(struct cursor *cursor, __u32 bytes)
{
    void *header = cursor->at;

    if (header + bytes > cursor->end)
        return NULL;
    cursor->at = header + bytes;
    return header;
}

static __always_inline __u8 ipv6_tclass(const struct ipv6hdr *ip6)
{
    return (__u8)(ip6->priority << 4 | ip6->flow_lbl[0] >> 4);
}

static __always_inline __u32 ipv6_flow_label(const struct ipv6hdr *ip6)
{
    return mrc_get24(ip6->flow_lbl) & 0xFFFFF;
}

/* By two words, for addresses anywhere in a packet; on the stack and in maps they stand at multiples of 8. */
static __always_inline int same_ip(const volatile void *a, const volatile void *b)
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

#endif
