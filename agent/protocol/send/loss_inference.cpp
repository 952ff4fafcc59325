// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/loss_inference.h"

#include <algorithm>
#include <bit>

#include "protocol/send/path_blame.h"
#include "protocol/send/requester_trace.h"
#include "protocol/send/retransmission.h"

namespace mrc::protocol
{

namespace
{

// All that the bitmap confirms, this time or before: it is evidence against the gaps of this SACK.
void add_all_proofs(requester_state &sender, sack_scan &scan)
{
    for (std::uint64_t ones = scan.bitmap; ones != 0; ones &= ones - 1) {
        const packet_number number = scan.base + std::countr_zero(ones);
        if (!sender.packets.remembers(number, sender.next))
            continue;
        const transmission &sent = sender.packets[number];
        if (sent.certain)
            add_proofs(sender, sent, scan);
    }
}

void judge(requester_state &sender, packet_number number, const sack_scan &scan, instant now)
{
    const transmission &sent = sender.packets[number];
    if (sent.fate != packet_fate::inflight)
        return;
    if (sender.same_path.lost(sent.slot, sent.in(), sent.order, scan.cack + 1 == sender.edge())) {
        ++sender.counters.losses;
        trace_loss(sender, trace_reason::same_ev, number, now);
        blame_loss(sender, sent, now);
        lose(sender, number, now);
        return;
    }
    const duration rtt = sender.rtt.smoothed();
    if (!sender.rtt.has_sample() || sender.untried(sent, now) ||
        !scan.age.lost(sent.in(), sent.sent_at, sender.skew.doubt(rtt)))
        return;
    if (!scan.age.lost(sent.in(), sent.sent_at, sender.skew.margin(rtt))) {
        doubt(sender, sent, now);
        return;
    }
    ++sender.counters.losses_by_age;
    trace_loss(sender, trace_reason::age, number, now);
    blame_age(sender, sent, now);
    lose(sender, number, now);
}

} // namespace

void infer_losses(requester_state &sender, sack_scan &scan, instant now)
{
    const packet_number edge = sender.edge();
    const packet_number first = std::max(scan.base, edge);
    packet_number end = scan.base + MRC_SACK_BITMAP_BITS - std::countl_zero(scan.bitmap);
    if (scan.proves_retransmission) // something sent late arrived: it may prove losses beyond all that is confirmed
        end = scan.base + MRC_SACK_BITMAP_BITS;
    end = std::min(end, sender.next);
    const bool edge_missing = scan.cack + 1 == edge && edge < sender.next;
    if (!edge_missing && first >= end)
        return;
    add_all_proofs(sender, scan);
    if (edge_missing)
        judge(sender, edge, scan, now);
    const std::uint64_t missing = ~scan.bitmap;
    for (packet_number number = first; number < end; ++number)
        if ((missing >> (number - scan.base) & 1) != 0)
            judge(sender, number, scan, now);
}

// Copies are not lost again by count: only what was in flight once.
void infer_losses_by_count(requester_state &sender, std::uint32_t out_of_order, instant now)
{
    const std::uint32_t packet_bytes = nominal_bytes(sender.config.payload_bytes);
    const packet_number edge = sender.edge();
    sleek &rule = sender.out_of_order;
    rule.note_window(sender.control.cwnd(), now, sender.rtt.smoothed());
    if (!rule.begins(out_of_order, sender.control.max_cwnd(), packet_bytes, edge, sender.next))
        return;
    const duration youngest = sender.rtt.smoothed() + sender.skew.margin(sender.rtt.smoothed());
    const packet_number end = std::min(edge + static_cast<packet_number>(rule.window() / packet_bytes), sender.next);
    for (packet_number number = edge; number < end; ++number) {
        const transmission &sent = sender.packets[number];
        if (sent.fate != packet_fate::inflight || sent.transmissions != 1 || now - sent.sent_at < youngest)
            continue;
        ++sender.counters.losses_by_sleek;
        trace_loss(sender, trace_reason::count, number, now);
        lose(sender, number, now);
    }
}

} // namespace mrc::protocol
