// SPDX-License-Identifier: Apache-2.0
/*
 * raw_steer: what mrc-bench-raw receives goes to the AF_XDP socket of its queue, everything else to the kernel.
 *
 * hook     XDP on each port of the host, an instance for each
 * inputs   Ethernet | outer IPv6 | IPv6 | UDP to `udp_port` | …
 * outputs  the frame as it arrived, outer header included
 * maps     reads raw_sockets
 */
#include "maps.h"
#include "parse.h"

#define RAW_QUEUES 64

struct raw_sockets_map {
    __uint(type, BPF_MAP_TYPE_XSKMAP);
    __uint(max_entries, RAW_QUEUES);
    __type(key, __u32);
    __type(value, __u32);
} raw_sockets SEC(".maps");

const volatile __u16 udp_port = 0;

static __always_inline bool is_ours(struct xdp_md *ctx)
{
    struct cursor cursor = MRC_CURSOR(ctx);
    struct headers headers;
    const struct ipv6hdr *inner;
    const struct udphdr *udp;

    if (!take_headers(&cursor, &headers) || headers.eth->h_proto != bpf_htons(ETH_P_IPV6) ||
        headers.ip6->nexthdr != IPPROTO_IPV6)
        return false;
    inner = take(&cursor, sizeof(*inner));
    udp = take(&cursor, sizeof(*udp));
    return inner && udp && inner->nexthdr == IPPROTO_UDP && udp->dest == bpf_htons(udp_port);
}

SEC("xdp")
int raw_steer(struct xdp_md *ctx)
{
    /* The last argument is what becomes of packets of a queue without a socket. */
    return is_ours(ctx) ? (int)bpf_redirect_map(&raw_sockets, ctx->rx_queue_index, XDP_PASS) : XDP_PASS;
}

char LICENSE[] SEC("license") = "Apache-2.0";
