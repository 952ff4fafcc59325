/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a program drops, by port and reason: counted in `drops`, and an event of `events` where it begins. Only packets
 * that are dropped come here.
 *
 * At most one event a second of a row: who finds that none was dropped for a second, and is the first to put the time
 * in the row, tells of it. Rows of the ring are claimed by their number, so each has one writer at a time.
 */
#ifndef MRC_BPF_DROPS_H
#define MRC_BPF_DROPS_H

#include "maps.h"

MRC_USES(host);
MRC_USES(ports);
MRC_USES(events);
MRC_USES(drops);

struct dropped_packet {
    struct mrc_ip address; /* as `peer` of struct mrc_event_row */
    __u32 verdict;         /* enum mrc_verdict */
    __u32 port;            /* or MRC_DROP_NO_PORT */
    __u32 qpn;             /* that it names; 0: none */
};

/* All that was written before is seen by who sees the number, and none of what is written after it. */
static __always_inline void number_event(struct mrc_event_row *event, __u64 number)
{
    (void)__atomic_exchange_n(&event->number, number, __ATOMIC_SEQ_CST);
}

static __always_inline void tell_of_drop(const struct dropped_packet *packet, __u64 count, __u64 before, __u64 now)
{
    const __u32 only = 0;
    const __u32 port_row = packet->port;
    struct mrc_host_row *own = bpf_map_lookup_elem(&host, &only);
    const struct mrc_port_row *port = bpf_map_lookup_elem(&ports, &port_row);
    const __u64 quiet_us = before ? (now - before) / 1000 : 0;
    struct mrc_event_row *event;
    __u64 number;
    __u32 row;

    if (!own)
        return;
    number = __sync_fetch_and_add(&own->drop_events, 1) + 1;
    row = MRC_EVENTS_OF_DROPS * MRC_EVENT_ROWS + ((__u32)(number - 1) & (MRC_EVENT_ROWS - 1));
    event = bpf_map_lookup_elem(&events, &row);
    if (!event)
        return;
    number_event(event, 0);
    event->time_ns = now;
    event->real_time_ns = now + own->real_ahead_ns;
    event->kind = MRC_EVENT_DROPS_BEGIN;
    event->plane = packet->port;
    event->verdict = packet->verdict;
    event->quiet_us = quiet_us > 0xFFFFFFFF ? 0xFFFFFFFF : (__u32)quiet_us;
    event->losses = count;
    event->peer = packet->address;
    event->qpn = packet->qpn;
    if (port)
        __builtin_memcpy(event->name, port->device, sizeof(event->name));
    else
        __builtin_memset(event->name, 0, sizeof(event->name));
    number_event(event, number);
}

/* A function of its own, which the verifier follows once. Returns nothing of use: it has to return something. */
__noinline int count_drop(struct dropped_packet *packet)
{
    struct mrc_drop_row *drop;
    __u64 now, before, count;
    __u32 row;

    if (!packet)
        return 0;
    row = packet->port * MRC_DROP_VERDICTS + packet->verdict;
    drop = bpf_map_lookup_elem(&drops, &row);
    if (!drop)
        return 0;
    now = bpf_ktime_get_ns();
    count = __sync_fetch_and_add(&drop->packets, 1) + 1;
    before = *(volatile __u64 *)&drop->last_ns;
    /* By its sign: another CPU may have dropped one a little later. */
    if (before && (__s64)(now - before) < (__s64)MRC_DROP_QUIET_NS) {
        *(volatile __u64 *)&drop->last_ns = now;
        return 0;
    }
    if (__sync_val_compare_and_swap(&drop->last_ns, before, now) == before)
        tell_of_drop(packet, count, before, now);
    return 0;
}

#endif
