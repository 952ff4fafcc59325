/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause OR Apache-2.0 */
/*
 * Which packets are copied for `mrcctl capture`, and into which slot: the same for BPF programs and the worker, who
 * write the slots side by side. Layouts: maps.h, struct mrc_capture_ring and mrc_capture_slot.
 *
 * While nobody captures, a packet costs the load of `lease_ns`.
 */
#ifndef MRC_CAPTURE_H
#define MRC_CAPTURE_H

#include "mrc/abi/maps.h"
#include "mrc/abi/rate.h"

/* Tries to claim a slot that others claim at the same time; each that fails is another's that has not. */
#define MRC_CAPTURE_TRIES 8

/* What a capture's filter looks at. */
struct mrc_capture_packet {
    __u64 now;   /* CLOCK_MONOTONIC */
    __u32 point; /* enum mrc_capture_point */
    __u32 port;
    __u32 dqp; /* of its BTH; 0, which no queue pair has: it is no MRC */
    __u32 psn;
};

/*
 * Whether packets are copied now. Who finds the lease over ends the capture: its mrcctl was killed, and each packet
 * would go on asking for the time.
 */
static inline int mrc_capture_lasts(struct mrc_capture_ring *ring, __u64 now)
{
    const __u64 lease = *(volatile __u64 *)&ring->lease_ns;

    if (lease > now)
        return 1;
    if (lease)
        (void)__sync_val_compare_and_swap(&ring->lease_ns, lease, 0);
    return 0;
}

static inline int mrc_capture_wants(const struct mrc_capture_ring *ring, const struct mrc_capture_packet *packet)
{
    const int received = packet->point == MRC_CAPTURE_ARRIVED || packet->point == MRC_CAPTURE_POPPED;

    if (!(ring->planes >> (packet->port & (MRC_MAX_PORTS - 1)) & 1u))
        return 0;
    if (ring->qpn && (!packet->dqp || packet->dqp != (received ? ring->qpn : ring->peer_qpn)))
        return 0;
    return !ring->psn_count || (packet->dqp && ((packet->psn - ring->psn_first) & MRC_PSN_MASK) < ring->psn_count);
}

/* The number of a slot that is the caller's until mrc_capture_publish(); 0: there is none. */
static inline __u64 mrc_capture_claim(struct mrc_capture_ring *ring)
{
    for (int i = 0; i < MRC_CAPTURE_TRIES; i++) {
        const __u64 producer = *(volatile __u64 *)&ring->producer;

        if (producer - *(volatile __u64 *)&ring->consumer >= MRC_CAPTURE_SLOTS)
            break;
        if (__sync_val_compare_and_swap(&ring->producer, producer, producer + 1) == producer)
            return producer + 1;
    }
    __sync_fetch_and_add(&ring->no_room, 1);
    return 0;
}

/* The same for a packet that the filter lets pass, if it is its turn by sampling and by rate. */
static inline __u64 mrc_capture_choose(struct mrc_capture_ring *ring, const struct mrc_capture_packet *packet)
{
    const __u32 sample = ring->sample;

    if (!mrc_capture_lasts(ring, packet->now) || !mrc_capture_wants(ring, packet))
        return 0;
    if (__sync_fetch_and_add(&ring->chosen, 1) % (sample ? sample : 1))
        return 0;
    if (ring->interval_ns && !mrc_within_rate(&ring->due_ns, packet->now, ring->interval_ns, MRC_CAPTURE_BURST_NS)) {
        __sync_fetch_and_add(&ring->over_rate, 1);
        return 0;
    }
    return mrc_capture_claim(ring);
}

static inline __u32 mrc_capture_row(__u64 number)
{
    return (__u32)(number - 1) & (MRC_CAPTURE_SLOTS - 1);
}

/* Bytes of a packet of `length` that are copied: a bound, so it is loaded once, whoever writes the map meanwhile. */
static inline __u32 mrc_capture_bytes(const struct mrc_capture_ring *ring, __u32 length)
{
    const __u32 wanted = *(const volatile __u32 *)&ring->snap_bytes;
    const __u32 most = wanted < MRC_CAPTURE_SNAP_MAX ? wanted : MRC_CAPTURE_SNAP_MAX;

    return length < most ? length : most;
}

/* All that was written before is seen by who sees the number. */
static inline void mrc_capture_publish(struct mrc_capture_slot *slot, __u64 number)
{
    (void)__atomic_exchange_n(&slot->number, number, __ATOMIC_SEQ_CST);
}

#endif
