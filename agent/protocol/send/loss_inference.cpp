// SPDX-License-Identifier: Apache-2.0
// Requester, inferring losses from what one SACK says is missing and what it proves to have arrived.
#include <algorithm>
#include <bit>

#include "protocol/send/requester_state.h"

namespace mrc::protocol
{

namespace
{

constexpr packet_number bitmap_bits = MRC_SACK_BITMAP_BITS;

} // namespace

void requester::infer_losses(sack_scan &scan, instant now)
{
    const packet_number first = std::max(scan.base, edge());
    packet_number end = scan.base + bitmap_bits - std::countl_zero(scan.bitmap);
    if (scan.proves_retransmission) // something sent late arrived: it may convict packets beyond all that are confirmed
        end = scan.base + bitmap_bits;
    end = std::min(end, next_);
    const bool at_edge = scan.cack + 1 == edge();
    const bool edge_missing = at_edge && edge() < next_;
    if (!edge_missing && first >= end)
        return;
    prove_arrivals(scan);
    if (edge_missing)
        infer_loss(edge(), scan, now);
    const std::uint64_t holes = ~scan.bitmap;
    for (packet_number number = first; number < end; ++number)
        if ((holes >> (number - scan.base) & 1) != 0)
            infer_loss(number, scan, now);
}

void requester::prove(const transmission &sent, sack_scan &scan)
{
    detector_.proves(sent.slot, sent.in(), sent.order);
    scan.age.proves(sent.in(), sent.sent_at);
}

void requester::prove_arrivals(sack_scan &scan)
{
    const packet_number oldest = next_ - static_cast<packet_number>(flight_.capacity());
    for (std::uint64_t ones = scan.bitmap; ones != 0; ones &= ones - 1) {
        const packet_number number = scan.base + std::countr_zero(ones);
        if (number < 0 || number < oldest)
            continue;
        const transmission &sent = flight_[number];
        if (sent.certain)
            prove(sent, scan);
    }
}

void requester::infer_loss(packet_number number, const sack_scan &scan, instant now)
{
    const transmission &sent = flight_[number];
    if (sent.fate != packet_fate::inflight)
        return;
    if (detector_.lost(sent.slot, sent.in(), sent.order, scan.cack + 1 == edge())) {
        ++counters_.losses;
        blame_loss(sent, now);
        lose(number, now);
    } else if (rtt_.has_sample() && scan.age.lost(sent.in(), sent.sent_at, skew_.margin(rtt_.smoothed()))) {
        ++counters_.losses_by_age;
        blame_age(sent, now);
        lose(number, now);
    }
}

// Copies are not lost again by count: only what was in flight once.
void requester::recover(std::uint32_t out_of_order, instant now)
{
    const std::uint32_t packet_bytes = nominal_bytes(config_.payload_bytes);
    if (!sleek_.begins(out_of_order, control_.cwnd(), packet_bytes, edge(), next_))
        return;
    const auto span = static_cast<packet_number>(control_.cwnd() / packet_bytes);
    for (packet_number number = edge(); number < std::min(edge() + span, next_); ++number) {
        const transmission &sent = flight_[number];
        if (sent.fate != packet_fate::inflight || sent.transmissions != 1 || now - sent.sent_at < rtt_.smoothed())
            continue;
        ++counters_.losses_by_sleek;
        lose(number, now);
    }
}

} // namespace mrc::protocol
