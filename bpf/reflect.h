/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * EV probes are answered in place, so that a probe measures the path and not our scheduler. Only requests that are
 * whole, IPv6, from a known peer (authorise() has checked that), carried as the path back is, with a right ICRC and
 * within the rate; every other one goes on to the agent untouched.
 */
#ifndef MRC_BPF_REFLECT_H
#define MRC_BPF_REFLECT_H

#include "classify.h"
#include "icrc.h"
#include "maps.h"
#include "mrc/abi/rate.h"
#include "outer.h"

MRC_USES(paths);

/* One per CPU. The messages would not fit the 512 bytes of stack that kernels before 6.13 give a program. */
struct reflector {
    __u64 due_ns; /* when the next probe would come at the configured rate */
    struct icrc_message message;
    struct icrc_message masked;
};

MRC_PER_CPU(reflectors, struct reflector, 1);
MRC_USES(reflectors);

#define MRC_PROBE_MESSAGE (sizeof(struct icrc_message) - sizeof(struct mrc_eeth) + sizeof(struct mrc_erth))
#define MRC_PROBE_PACKET (MRC_PROBE_MESSAGE + MRC_ICRC_LEN)
#define MRC_PROBE_GROWTH (sizeof(struct mrc_eeth) - sizeof(struct mrc_erth))
#define MRC_NS_PER_SECOND 1000000000u

static __always_inline bool within_probe_rate(__u64 *due_ns, __u64 now)
{
    const __u32 rate = config.probes_per_second ? config.probes_per_second : MRC_RX_PROBES_PER_SECOND;

    return mrc_within_rate(due_ns, now, MRC_NS_PER_SECOND / rate, MRC_RX_PROBE_BURST_NS);
}

/* The request, copied out when it is a whole EV probe with a right ICRC. */
static __always_inline bool read_probe(struct xdp_md *ctx, const struct rx_packet *packet, struct reflector *reflector)
{
    struct cursor cursor = MRC_CURSOR(ctx);
    struct icrc_message *request = &reflector->message;
    const struct mrc_erth *erth = (const void *)request->extension;
    const __u32 *icrc;
    const void *bytes;

    if (packet->length != ETH_HLEN + MRC_PROBE_PACKET || packet->inner.ipv4)
        return false;
    if (!take(&cursor, ETH_HLEN) || (packet->encapsulated && !take(&cursor, sizeof(struct ipv6hdr))))
        return false;
    bytes = take(&cursor, MRC_PROBE_MESSAGE);
    icrc = take(&cursor, MRC_ICRC_LEN);
    if (!bytes || !icrc)
        return false;
    __builtin_memset(request, 0, sizeof(*request));
    __builtin_memcpy(request, bytes, MRC_PROBE_MESSAGE);
    if ((bpf_ntohs(erth->flags) & MRC_ERTH_OP_MASK) != MRC_EP_EV_PROBE)
        return false;
    reflector->masked = *request;
    return icrc_of(&reflector->masked, MRC_PROBE_MESSAGE) == *icrc;
}

/* In place: a header at a time, what the answer repeats stays. */
static __always_inline void turn_into_response(struct icrc_message *message)
{
    const struct in6_addr asked = message->ip6.daddr;
    const __u16 timestamp = ((struct mrc_erth *)message->extension)->ts.tx_timestamp;
    struct mrc_eeth *eeth = (void *)message->extension;
    const __u32 tclass = MRC_TCLASS(config.dscp_control, MRC_ECN_NOT_ECT);

    *(__be32 *)&message->ip6 = bpf_htonl(6u << 28 | tclass << 20 | (ipv6_flow_label(&message->ip6) & 0xFFFF));
    message->ip6.payload_len = bpf_htons(sizeof(*message) - sizeof(message->ip6) + MRC_ICRC_LEN);
    message->ip6.hop_limit = 64;
    message->ip6.daddr = message->ip6.saddr;
    message->ip6.saddr = asked;
    message->udp.len = message->ip6.payload_len;
    message->udp.check = 0;
    message->bth.opcode = MRC_OP_ENDPOINT_RESPONSE;
    message->bth.flags = 0;
    message->bth.pkey = bpf_htons(MRC_PKEY_DEFAULT);
    message->bth.var_res = 0;
    message->bth.control = 0;
    message->bth.psn[0] = 0; /* the id is 16 bits wide */
    __builtin_memset(eeth, 0, sizeof(*eeth));
    eeth->flags = bpf_htons(MRC_EP_EV_PROBE << MRC_EETH_OP_SHIFT);
    eeth->tx_timestamp = timestamp;
}

static __always_inline bool write_response(struct xdp_md *ctx, struct icrc_message *response, const struct way_out *way,
                                           __u16 host_usid)
{
    const struct outer_fields fields = {
        .flow_label = ipv6_flow_label(&response->ip6),
        .payload_length = sizeof(*response) + MRC_ICRC_LEN,
        .host_usid = host_usid,
        .tclass = MRC_TCLASS(config.dscp_control, MRC_ECN_NOT_ECT),
        .hop_limit = 64,
        .next_header = IPPROTO_IPV6,
    };
    struct cursor cursor = MRC_CURSOR(ctx);
    struct icrc_message *message;
    __u32 *icrc;

    if (!write_carrier(&cursor, way, &fields))
        return false;
    message = take(&cursor, sizeof(*message));
    icrc = take(&cursor, MRC_ICRC_LEN);
    if (!message || !icrc)
        return false;
    __builtin_memcpy(message, response, sizeof(*message));
    *icrc = icrc_of(response, sizeof(*response));
    return true;
}

/*
 * MRC_RX_REFLECTED when the answer stands in the frame, ready for XDP_TX: it goes back by the request's own EV, same
 * plane, same uplink. MRC_GO_ON when it is the agent's, with the frame untouched, unless the kernel refuses to write
 * what it has just grown.
 */
static __always_inline enum mrc_verdict reflect(struct xdp_md *ctx, const struct rx_packet *packet)
{
    const __u32 only = 0;
    struct reflector *reflector = bpf_map_lookup_elem(&reflectors, &only);
    const __u32 row = packet->path;
    struct mrc_path_row *path = bpf_map_lookup_elem(&paths, &row);
    struct way_out way;

    if (config.agent_answers || !row || !reflector)
        return MRC_GO_ON;
    if (!path || path->state == MRC_PATH_UNUSED || path->port != config.port || !find_way_out(&way, path))
        return MRC_GO_ON;
    if ((path->kind == MRC_CARRIER_SRV6) != packet->encapsulated || !read_probe(ctx, packet, reflector))
        return MRC_GO_ON;
    if (!within_probe_rate(&reflector->due_ns, packet->now))
        return MRC_RX_DROP_PROBE_RATE;
    if (bpf_xdp_adjust_tail(ctx, MRC_PROBE_GROWTH))
        return MRC_GO_ON;
    turn_into_response(&reflector->message);
    if (!write_response(ctx, &reflector->message, &way, packet->peer->host_usid))
        return MRC_GO_ON;
    count_sent(&way, 1, packet->frame_bytes + MRC_PROBE_GROWTH, packet->now);
    return MRC_RX_REFLECTED;
}

#endif
