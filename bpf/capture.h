/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies of packets for `mrcctl capture`. A program of XDP defines MRC_CAPTURE_XDP before it includes this.
 *
 * Which packets are copied, and what that costs while none are: include/mrc/abi/capture.h.
 */
#ifndef MRC_BPF_CAPTURE_H
#define MRC_BPF_CAPTURE_H

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <stdbool.h>

#include "maps.h"
#include "mrc/abi/capture.h"

MRC_USES(capture_ring);
MRC_USES(capture_slots);

#ifdef MRC_CAPTURE_XDP
#define MRC_CAPTURE_CTX struct xdp_md
#define MRC_CAPTURE_LOAD bpf_xdp_load_bytes
#define MRC_CAPTURE_LENGTH(ctx) ((__u32)bpf_xdp_get_buff_len(ctx))
#else
#define MRC_CAPTURE_CTX struct __sk_buff
#define MRC_CAPTURE_LOAD bpf_skb_load_bytes
#define MRC_CAPTURE_LENGTH(ctx) ((ctx)->len)
#endif

struct capture_request {
    __u32 bth_at; /* where the BTH begins; 0: the packet is no MRC */
    __u8 point;   /* enum mrc_capture_point */
    __u8 port;
    bool chosen; /* what it was, or belongs to, was copied: it is, too */
    __u8 skip;   /* bytes in front of it that are no part of it */
};

static __always_inline struct mrc_capture_ring *find_capture_ring(void)
{
    const __u32 only = 0;

    return bpf_map_lookup_elem(&capture_ring, &only);
}

static __always_inline bool is_capturing(void)
{
    const struct mrc_capture_ring *ring = find_capture_ring();

    return ring && *(volatile __u64 *)&ring->lease_ns;
}

/* Behind the headers of this many bytes, an IP header without options, and UDP. */
static __always_inline __u32 bth_behind(__u32 header_bytes, bool ipv4)
{
    return header_bytes + (ipv4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr)) + sizeof(struct udphdr);
}

static __always_inline void fill_slot(MRC_CAPTURE_CTX *ctx, struct mrc_capture_slot *slot,
                                      const struct mrc_capture_ring *ring, const struct capture_request *request)
{
    const __u32 length = MRC_CAPTURE_LENGTH(ctx) - request->skip;
    __u32 bytes = mrc_capture_bytes(ring, length);

    /*
     * The ring's settings can change meanwhile: the bounds have to hold for the register that the helper gets. The
     * lower one is not 1, which the compiler makes a comparison with 0, from which Linux 6.1 learns nothing.
     */
    asm volatile("" : "+r"(bytes));
    if (bytes < ETH_HLEN || bytes > MRC_CAPTURE_SNAP_MAX || MRC_CAPTURE_LOAD(ctx, request->skip, slot->bytes, bytes))
        bytes = 0;
    slot->length = length;
    slot->captured = (__u16)bytes;
    slot->point = request->point;
    slot->port = request->port;
}

/*
 * Copies the packet as it is now, if it is to be: returns its slot's number, for publish_capture(), or 0. A function of
 * its own, which the verifier follows once.
 */
__noinline __u64 copy_packet(MRC_CAPTURE_CTX *ctx, struct capture_request *request)
{
    struct mrc_capture_ring *ring = find_capture_ring();
    struct mrc_capture_packet packet = {.now = bpf_ktime_get_ns()};
    struct mrc_capture_slot *slot;
    struct mrc_bth bth = {};
    __u64 number;
    __u32 row;

    if (!ring || !request)
        return 0;
    packet.point = request->point;
    packet.port = request->port;
    if (request->bth_at && !MRC_CAPTURE_LOAD(ctx, request->bth_at, &bth, sizeof(bth))) {
        packet.dqp = mrc_get24(bth.dqp);
        packet.psn = mrc_get24(bth.psn);
    }
    number = request->chosen ? mrc_capture_claim(ring) : mrc_capture_choose(ring, &packet);
    if (!number)
        return 0;
    row = mrc_capture_row(number);
    slot = bpf_map_lookup_elem(&capture_slots, &row);
    if (!slot)
        return 0;
    slot->time_ns = packet.now;
    fill_slot(ctx, slot, ring, request);
    return number;
}

static __always_inline void publish_capture(__u64 number, enum mrc_verdict verdict)
{
    const __u32 row = mrc_capture_row(number);
    struct mrc_capture_slot *slot = bpf_map_lookup_elem(&capture_slots, &row);

    if (!slot)
        return;
    slot->verdict = (__u16)verdict;
    mrc_capture_publish(slot, number);
}

/* Both in one, where the verdict is known. */
static __always_inline void capture(MRC_CAPTURE_CTX *ctx, struct capture_request *request, enum mrc_verdict verdict)
{
    const __u64 number = copy_packet(ctx, request);

    if (number)
        publish_capture(number, verdict);
}

#endif
