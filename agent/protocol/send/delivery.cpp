// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/delivery.h"

#include <algorithm>
#include <bit>

#include "protocol/send/requester_trace.h"
#include "protocol/send/retransmission.h"

namespace mrc::protocol
{

void reached_peer(requester_state &sender, std::uint16_t slot, instant sent_at)
{
    sender.way.paths.on_delivered(slot, sent_at);
    sender.way.peer.on_delivered(sender.way.paths.path(slot).plane, sent_at);
    sender.reached = std::max(sender.reached, sent_at);
}

void count_spurious(requester_state &sender, transmission &sent, instant answered)
{
    if (sent.transmissions < 2 || sent.spurious)
        return;
    sent.spurious = true;
    ++sender.counters.spurious;
    if (sent.transmissions == 2) // of more it is unknown which one has arrived
        sender.skew.on_needless(sent.first_sent_at(), answered);
}

void add_proofs(requester_state &sender, const transmission &sent, sack_scan &scan)
{
    sender.same_path.proves(sent.slot, sent.in(), sent.order);
    scan.age.proves(sent.in(), sent.sent_at);
}

void deliver(requester_state &sender, packet_number number, sack_scan &scan)
{
    if (!sender.delivered.mark(number))
        return;
    transmission &sent = sender.packets[number];
    sender.timers.disarm(sender.packets.index(number));
    if (sent.fate == packet_fate::inflight) {
        (land(sender, sent) ? scan.newly_bytes : sender.credited_bytes) += nominal(sent);
    } else if (sent.fate == packet_fate::lost) {
        trace_loss(sender, trace_reason::withdrawn, number, scan.arrived);
        sender.lost.erase(number);
    }
    // Confirmed sooner than the copy can have travelled.
    if (sender.rtt.has_sample() && scan.arrived - sent.sent_at < sender.rtt.minimum())
        count_spurious(sender, sent, scan.arrived);
    sent.step(packet_event::confirm);
    if (sent.transmissions == 1)
        sender.skew.on_delivered(sent.sent_at, scan.arrived, sender.rtt.smoothed());
    // Of several transmissions it is unknown which one arrived, unless the SACK names it.
    if (sent.transmissions == 1 && !sent.certain) {
        sent.certain = true;
        reached_peer(sender, sent.slot, sent.sent_at);
    }
}

void deliver_confirmed(requester_state &sender, sack_scan &scan)
{
    for (packet_number number = sender.edge(); number <= scan.cack; ++number)
        deliver(sender, number, scan);
    for (std::uint64_t fresh = scan.bitmap & ~sender.delivered.extract(scan.base); fresh != 0; fresh &= fresh - 1)
        deliver(sender, scan.base + std::countr_zero(fresh), scan);
}

void advance(requester_state &sender, instant now)
{
    const packet_number before = sender.edge();
    const packet_number after = sender.delivered.advance();
    for (packet_number number = before; number < after; ++number) {
        const transmission &sent = sender.packets[number];
        if (sent.certain)
            sender.same_path.below_edge(sent.slot, sent.in(), sent.order);
    }
    if (after != before)
        sender.progress_at = now;
}

} // namespace mrc::protocol
