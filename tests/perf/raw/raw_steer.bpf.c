// SPDX-License-Identifier: Apache-2.0
/*
 * raw_steer: what mrc-bench-raw receives goes to the AF_XDP socket of its queue, everything else to the kernel. By
 * `config.mode` payload is placed in the program's region before, or all is done here.
 *
 * hook     XDP on each port of the host, an instance for each
 * inputs   Ethernet | outer IPv6 | IPv6 | UDP to `config.udp_port` | struct raw_note | …
 * outputs  the frame as it arrived, outer header included; without its payload, when that was placed; or the answer,
 *          back out of the same port
 * maps     reads raw_sockets, raw_session, paths, ports, next_hops; writes raw_region, raw_marks
 * kernel   6.1
 * cost     tests/bpf/raw_steer_test.cpp prints it
 */
#include "maps.h"
#include "parse.h"
#include "place.h"

#define RAW_QUEUES 64

struct raw_sockets_map {
    __uint(type, BPF_MAP_TYPE_XSKMAP);
    __uint(max_entries, RAW_QUEUES);
    __type(key, __u32);
    __type(value, __u32);
} raw_sockets SEC(".maps");

/* Leaves the cursor behind the inner UDP header. */
static __always_inline bool is_ours(struct cursor *cursor)
{
    struct headers headers;
    const struct ipv6hdr *inner;
    const struct udphdr *udp;

    if (!take_headers(cursor, &headers) || headers.eth->h_proto != bpf_htons(ETH_P_IPV6) ||
        headers.ip6->nexthdr != IPPROTO_IPV6)
        return false;
    inner = take(cursor, sizeof(*inner));
    udp = take(cursor, sizeof(*udp));
    return inner && udp && inner->nexthdr == IPPROTO_UDP && udp->dest == bpf_htons(config.udp_port);
}

SEC("xdp")
int raw_steer(struct xdp_md *ctx)
{
    struct cursor cursor = MRC_CURSOR(ctx);
    int action;

    if (!is_ours(&cursor))
        return XDP_PASS;
    /* A port's marks have one writer: the CPU that has its first queue, where the socket is, too. */
    action = config.mode == RAW_WHOLE || ctx->rx_queue_index != 0 ? RAW_STEER : take_here(ctx, &cursor);
    /* The last argument is what becomes of packets of a queue without a socket. */
    return action == RAW_STEER ? (int)bpf_redirect_map(&raw_sockets, ctx->rx_queue_index, XDP_PASS) : action;
}

char LICENSE[] SEC("license") = "Apache-2.0";
