/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Per-path signals: what arrives on a path, and what acknowledgements say about the way there. */
#ifndef MRC_BPF_SIGNALS_H
#define MRC_BPF_SIGNALS_H

#include "classify.h"
#include "maps.h"

static __always_inline void signal_arrival(struct mrc_signal_row *signal, const struct rx_packet *packet)
{
    add(&signal->packets, 1);
    add(&signal->bytes, packet->frame_bytes);
    if (packet->flags & MRC_RX_CE)
        add(&signal->ce, 1);
    if (packet->flags & MRC_RX_TRIMMED)
        add(&signal->trims, 1);
    signal->last_arrival_ns = packet->now;
}

/* 16 bits of 128 ns ticks: right for round trips below 8.39 ms, as the wire format is. */
static __always_inline __u32 round_trip_ns(__u64 now, __u16 reflected)
{
    return (__u32)((__u16)((now >> MRC_TS_TICK_SHIFT) - reflected)) << MRC_TS_TICK_SHIFT;
}

static __always_inline void lower(__u32 *least_ns, __u32 rtt_ns)
{
    if (!*least_ns || rtt_ns < *least_ns)
        *least_ns = rtt_ns;
}

/*
 * The least of this period and the one before. A delay above 8.39 ms looks like a short one, and nothing in the packet
 * tells them apart: the minimum is learnt again, so that such a sample is forgotten after two periods.
 */
static __always_inline void signal_least(struct mrc_signal_row *signal, __u32 rtt_ns, __u64 now)
{
    if (now - signal->rtt_period_ns >= MRC_RTT_PERIOD_NS) {
        signal->rtt_period_ns = now;
        signal->rtt_min_ns = signal->rtt_period_min_ns;
        signal->rtt_period_min_ns = 0;
    }
    lower(&signal->rtt_period_min_ns, rtt_ns);
    lower(&signal->rtt_min_ns, rtt_ns);
}

/* Two queues may write one row at once; a lost sample of a moving average is worth less than a lock. */
static __always_inline void signal_echo(struct mrc_signal_row *signal, const struct rx_packet *packet)
{
    add(&signal->acks, 1);
    if (packet->echo.congested)
        add(&signal->ce_echoes, 1);
    if (packet->echo.trimmed)
        add(&signal->trim_echoes, 1);
    signal->last_ack_ns = packet->now;
    if (!packet->echo.timestamp)
        return;
    const __u32 rtt = round_trip_ns(packet->now, packet->echo.timestamp);
    const __u32 smoothed = signal->rtt_smoothed_ns;

    signal->rtt_ns = rtt;
    signal_least(signal, rtt, packet->now);
    signal->rtt_smoothed_ns = smoothed ? smoothed - (smoothed >> 3) + (rtt >> 3) : rtt;
}

#endif
