// SPDX-License-Identifier: Apache-2.0
// Requester, listening: SACK, NACK, Transport ACK (processing order of appendix E).
#include <algorithm>
#include <bit>

#include "protocol/requester.h"

namespace mrc::protocol
{

namespace
{

constexpr packet_number bitmap_bits = MRC_SACK_BITMAP_BITS;
// A worker may stamp a frame some time after next_packet() chose it; two transmissions of one packet lie further apart.
constexpr std::uint16_t stamp_tolerance = 2048; // ticks: 262 us, the shortest usual time-out

} // namespace

// The peer's QP speaks. When it had been quiet for a while, what is in flight gets its time anew: its SACKs may be next
// in the same queue.
void requester::heard(instant now)
{
    if (silence_.active()) {
        silence_.end();
        timer_floor_ = now;
        blame_floor_ = order_;
    } else if (inflight_ != 0 && now - heard_at_ > rto() / 2) {
        forgive(now);
    }
    heard_at_ = now;
    tail_.on_heard(now);
}

bool requester::plausible(const sack_packet &sack, const sack_scan &scan, packet_number trigger) const
{
    if (scan.cack >= next_ || (!sack.probe_response && trigger >= next_))
        return false;
    return sack.bitmap == 0 || scan.base + bitmap_bits - 1 - std::countl_zero(sack.bitmap) < next_;
}

void requester::on_sack(const sack_packet &sack, const arrival &how, instant now)
{
    sack_scan scan;
    scan.cack = space_.number_of(sack.cack, edge() - 1);
    scan.base = scan.cack + sack.sack_offset;
    scan.bitmap = sack.bitmap;
    scan.arrived = how.at;
    const packet_number trigger = scan.cack + sack.ack_psn_offset;
    if (!plausible(sack, scan, trigger)) {
        ++counters_.sacks_rejected;
        return;
    }
    if (scan.cack < edge() - 1 - 2 * static_cast<packet_number>(config_.window_psns)) {
        ++counters_.sacks_stale;
        return;
    }
    ++counters_.sacks_received;
    heard(now);
    const auto slot = paths_.slot_of(sack.entropy);
    on_path_feedback(sack, slot, now);
    if (sack.retransmission && trigger == suspect_.number && slot)
        on_suspect_cleared(*slot, now);

    detector_.begin_sack();
    if (sack.probe_response)
        on_probe_answer(sack, how, scan);
    else if (trigger >= 0)
        on_trigger(sack, trigger, how, scan);
    merge(scan);
    advance(now);
    infer_losses(scan, now);
    if (scan.rtt)
        rtt_.on_sample(*scan.rtt);
    control_.on_sack({.newly_bytes = scan.newly_bytes,
                      .congestion_experienced = sack.m != MRC_SACK_M_NONE,
                      .rtt = scan.rtt,
                      .received_units = sack.rcvd_units,
                      .receiver_penalty = sack.rcv_cwnd_penalty,
                      .restore_window = sack.restore_cwnd},
                     now);
}

// The packet that broke the silence came through on another path at the first attempt: so the peer had been there, and
// it is the path that swallowed the packet.
void requester::on_suspect_cleared(std::uint16_t slot, instant now)
{
    if (silence_.attempts() == 1 && slot != suspect_.slot)
        paths_.on_unanswered(suspect_.slot, suspect_.sent_at, now);
    suspect_.number = -1;
}

void requester::on_path_feedback(const sack_packet &sack, std::optional<std::uint16_t> slot, instant now)
{
    if (!slot)
        return;
    if (sack.m == MRC_SACK_M_SKIP_ONCE)
        selector_.on_congestion(*slot);
    else if (sack.m == MRC_SACK_M_ALWAYS_SKIP)
        paths_.on_always_skip(*slot, now);
}

void requester::on_probe_answer(const sack_packet &sack, const arrival &how, sack_scan &scan)
{
    const auto probe = tail_.take(sack.probe_id);
    if (!probe)
        return;
    paths_.on_delivered(probe->slot, probe->sent_at);
    detector_.proves(probe->slot, probe->in, probe->order);
    scan.proves_retransmission = true;
    if (how.at > probe->sent_at)
        scan.rtt = how.at - probe->sent_at;
}

// The round trip of the transmission that a SACK or NACK answers, if it is the packet's latest.
std::optional<duration> requester::match(const transmission &sent, std::optional<std::uint16_t> slot,
                                         std::uint16_t tx_timestamp, instant arrived) const
{
    const auto later = static_cast<std::uint16_t>(tx_timestamp - wire_timestamp(sent.sent_at));
    if (slot != sent.slot || later > stamp_tolerance)
        return std::nullopt;
    const instant stamped = sent.sent_at + duration{std::int64_t{later} << MRC_TS_TICK_SHIFT};
    return arrived > stamped ? std::optional{arrived - stamped} : std::nullopt;
}

// ack_psn: the packet that triggered the SACK, with its path and its sending time.
void requester::on_trigger(const sack_packet &sack, packet_number trigger, const arrival &how, sack_scan &scan)
{
    if (trigger < next_ - static_cast<packet_number>(flight_.capacity()))
        return; // forgotten
    transmission &sent = flight_[trigger];
    const auto slot = paths_.slot_of(sack.entropy);
    const auto round_trip = match(sent, slot, sack.tx_timestamp, how.at);
    const bool known = delivered_.test(trigger);
    const bool certain = sent.certain;
    if (round_trip && sack.retransmission == (sent.transmissions > 1)) {
        if (!certain) {
            sent.certain = true;
            paths_.on_delivered(sent.slot, sent.sent_at);
        }
        if (!known)
            scan.rtt = round_trip;
        scan.proves_retransmission = sent.transmissions > 1;
        detector_.proves(sent.slot, sent.in(), sent.order);
    } else if (slot) {
        paths_.on_late_delivery(*slot);
    }
    if (!sack.retransmission)
        count_spurious(sent);
    deliver(trigger, scan);
}

// The original had arrived after all.
void requester::count_spurious(transmission &sent)
{
    if (sent.transmissions < 2 || sent.spurious)
        return;
    sent.spurious = true;
    ++counters_.spurious;
}

void requester::merge(sack_scan &scan)
{
    for (packet_number number = edge(); number <= scan.cack; ++number)
        deliver(number, scan);
    for (std::uint64_t fresh = scan.bitmap & ~delivered_.extract(scan.base); fresh != 0; fresh &= fresh - 1)
        deliver(scan.base + std::countr_zero(fresh), scan);
}

void requester::deliver(packet_number number, sack_scan &scan)
{
    if (!delivered_.mark(number))
        return;
    transmission &sent = flight_[number];
    timers_.disarm(flight_.index(number));
    if (sent.fate == packet_fate::inflight) {
        --inflight_;
        scan.newly_bytes += nominal_bytes(payload_of(number));
    } else if (sent.fate == packet_fate::lost) {
        lost_.erase(number);
    }
    // Confirmed sooner than the copy can have travelled.
    if (rtt_.has_sample() && scan.arrived - sent.sent_at < rtt_.minimum())
        count_spurious(sent);
    sent.fate = packet_fate::delivered;
    // Of several transmissions it is unknown which one arrived, unless the SACK names it.
    if (sent.transmissions == 1 && !sent.certain) {
        sent.certain = true;
        paths_.on_delivered(sent.slot, sent.sent_at);
    }
}

void requester::advance(instant now)
{
    const packet_number before = edge();
    const packet_number after = delivered_.advance();
    for (packet_number number = before; number < after; ++number) {
        const transmission &sent = flight_[number];
        if (sent.certain)
            detector_.below_edge(sent.slot, sent.in(), sent.order);
    }
    if (after != before)
        progress_at_ = now;
}

void requester::infer_losses(const sack_scan &scan, instant now)
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
        infer_loss(edge(), at_edge, now);
    const std::uint64_t holes = ~scan.bitmap;
    for (packet_number number = first; number < end; ++number)
        if ((holes >> (number - scan.base) & 1) != 0)
            infer_loss(number, at_edge, now);
}

void requester::prove_arrivals(const sack_scan &scan)
{
    const packet_number oldest = next_ - static_cast<packet_number>(flight_.capacity());
    for (std::uint64_t ones = scan.bitmap; ones != 0; ones &= ones - 1) {
        const packet_number number = scan.base + std::countr_zero(ones);
        if (number < 0 || number < oldest)
            continue;
        const transmission &sent = flight_[number];
        if (sent.certain)
            detector_.proves(sent.slot, sent.in(), sent.order);
    }
}

void requester::infer_loss(packet_number number, bool sack_at_edge, instant now)
{
    transmission &sent = flight_[number];
    if (sent.fate != packet_fate::inflight || !detector_.lost(sent.slot, sent.in(), sent.order, sack_at_edge))
        return;
    ++counters_.losses;
    blame_loss(sent, now);
    lose(number, now);
}

void requester::on_nack(const nack_packet &nack, const arrival &how, instant now)
{
    const packet_number number = space_.number_of(nack.sequence, edge());
    if (number < edge() || number >= next_) // late, or forged
        return;
    ++counters_.nacks;
    heard(now);
    const auto slot = paths_.slot_of(nack.entropy);
    transmission &sent = flight_[number];
    if (nack.reason == MRC_NACK_TRIMMED && slot)
        selector_.on_congestion(*slot);
    if (sent.fate != packet_fate::inflight)
        return;
    if (nack.reason == MRC_NACK_UNEXP_EVENT) {
        failure_ = completion_status::remote_operation_error;
        return;
    }
    const auto round_trip = match(sent, slot, nack.tx_timestamp, how.at);
    if (!round_trip)
        return;                                   // an earlier transmission of this packet
    paths_.on_delivered(sent.slot, sent.sent_at); // trimmed or refused, but the path led there
    control_.on_nack({.bytes = nominal_bytes(payload_of(number)), .reason = nack.reason, .rtt = round_trip}, now);
    --inflight_;
    if (nack.reason == MRC_NACK_TRIMMED || nack.reason == MRC_NACK_TRIMMED_LASTHOP) {
        sent.fate = packet_fate::lost;
        timers_.disarm(flight_.index(number));
        lost_.insert(number);
    } else {
        // Resources and windows recover with time, not by haste: the packet's timer sends it again.
        sent.fate = packet_fate::refused;
        sent.count_failure();
        timers_.arm(flight_.index(number), retry_.level(sent.failures), now);
    }
}

void requester::on_transport_ack(const transport_ack_packet &ack, const arrival &how, instant now)
{
    const packet_number number = space_.number_of(ack.sequence, edge() - 1);
    const bool nak = (ack.syndrome & MRC_AETH_TYPE_MASK) == MRC_AETH_TYPE_NAK;
    if (number >= next_ || (nak && number < 0)) {
        ++counters_.sacks_rejected;
        return;
    }
    ++counters_.acks_received;
    heard(now);
    // Cumulative: everything before it was executed, so it arrived.
    sack_scan scan;
    scan.cack = nak ? number - 1 : number;
    scan.arrived = how.at;
    merge(scan);
    advance(now);
    if (scan.newly_bytes != 0) {
        sack_signal signal;
        signal.newly_bytes = scan.newly_bytes;
        control_.on_sack(signal, now);
    }
    if (queue_.acknowledge(scan.cack))
        progress_at_ = now;
    if (!nak)
        return;
    switch (ack.syndrome) {
    case MRC_AETH_NAK_REMOTE_ACCESS:
        failure_ = completion_status::remote_access_error;
        break;
    case MRC_AETH_NAK_INVALID_REQUEST:
        failure_ = completion_status::remote_invalid_request;
        break;
    default:
        failure_ = completion_status::remote_operation_error;
    }
}

} // namespace mrc::protocol
