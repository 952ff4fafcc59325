// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * host_push: the XDP transmit engine. Each live frame of BPF_PROG_TEST_RUN becomes the packet of the next slot.
 *
 * hook     XDP, run by BPF_PROG_TEST_RUN with BPF_F_TEST_XDP_LIVE_FRAMES only; attached to a scratch device, because
 *          the kernel rebuilds its XDP dispatcher on every call for a program that is attached nowhere (25 ms)
 * inputs   a blank frame of MRC_PUSH_BLANK_BYTES; the worker's push_slots[push_ring.consumer]; `config`
 * outputs  Ethernet | outer IPv6 | inner packet, or Ethernet | packet on a direct path, redirected to the path's port.
 *          Each run consumes one slot or, when none is left, drops the blank frame.
 * maps     reads push_slots, paths, ports, next_hops, tx_ports; writes push_ring (consumer, sent, refused,
 *          last_send_ns), paths and ports (transmit counters), verdicts; of what it drops, drops, events and their
 *          number in host; while mrcctl captures, capture_ring and capture_slots
 * kernel   6.1
 * cost     230 ns for a 182-byte frame, 330 ns for 3,218 bytes, of it about 20 ns the measuring
 *          (tests/bpf/host_push_test.cpp prints it, with the whole call's cost per frame)
 */
#include "push.h"

static __always_inline enum mrc_verdict write_inner(struct xdp_md *ctx, const struct push_departure *departure)
{
    const struct mrc_push_slot *slot = departure->slot;
    __u32 length = departure->length;

    /* look_up() has checked this; the verifier lost it on the stack, and the compiler must not drop the repetition. */
    asm volatile("" : "+r"(length));
    if (length < sizeof(struct iphdr) || length > sizeof(slot->inner))
        return MRC_PUSH_BAD_SLOT;
    if (bpf_xdp_store_bytes(ctx, departure->header_bytes, (void *)slot->inner, length))
        return MRC_PUSH_STORE;
    return MRC_GO_ON;
}

SEC("xdp")
int host_push(struct xdp_md *ctx)
{
    const enum mrc_verdict verdict = push(ctx);

    count_verdict(verdict);
    return xdp_action(verdict);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
