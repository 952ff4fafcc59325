// SPDX-License-Identifier: Apache-2.0
// Requester, listening: SACK, NACK, Transport ACK (processing order of appendix E).
#include <algorithm>
#include <bit>
#include <utility>

#include "protocol/send/requester_state.h"

namespace mrc::protocol
{

namespace
{

constexpr packet_number bitmap_bits = MRC_SACK_BITMAP_BITS;
// A worker may stamp a frame some time after next_packet() chose it; two transmissions of one packet lie further apart.
constexpr std::uint16_t stamp_tolerance = 2048; // ticks: 262 us, the shortest usual time-out
// Advanced by the responder's service time, stamps reach further; rtx tells an original from its copies.
constexpr std::uint16_t serviced_stamp_tolerance = 32767; // ticks: 4.2 ms

// Codes that the specification does not name are taken for recoverable, as most are.
bool known_reason(std::uint8_t reason)
{
    switch (reason) {
    case MRC_NACK_TRIMMED:
    case MRC_NACK_TRIMMED_LASTHOP:
    case MRC_NACK_NO_BITMAP:
    case MRC_NACK_NO_PKT_BUFFER:
    case MRC_NACK_NO_RESOURCE:
    case MRC_NACK_PSN_OOR_WINDOW:
    case MRC_NACK_UNEXP_EVENT:
        return true;
    default:
        return false;
    }
}

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
    if (sack.retransmission && trigger == suspect_.number && slot)
        on_suspect_cleared(*slot, now);

    detector_.begin_sack();
    std::optional<std::uint16_t> proven;
    if (sack.probe_response)
        proven = on_probe_answer(sack, how, scan);
    else if (trigger >= 0)
        proven = on_trigger(sack, trigger, how, scan);
    if (slot)
        on_path_feedback(sack, *slot, slot == proven, now);
    merge(scan);
    if (scan.rtt)
        rtt_.on_sample(*scan.rtt);
    advance(now);
    skew_.end_sack();
    infer_losses(scan, now);
    recover(sack.ooo_count, now);
    follow_window(sack, scan);
    clean_probe_due_ = control_.take_clean_probe() || clean_probe_due_;
    control_.on_sack({.newly_bytes = scan.newly_bytes,
                      .credited_bytes = std::exchange(credited_, 0),
                      .congestion_experienced = sack.m != MRC_SACK_M_NONE,
                      .rtt = scan.rtt,
                      .receiver_penalty = sack.rcv_cwnd_penalty,
                      .restore_window = sack.restore_cwnd},
                     now);
}

// The packet that broke the silence came through on another path at the first attempt, and at once: so the peer had
// been there, and it is the path that swallowed the packet. A copy that waited says that the peer had been away.
void requester::on_suspect_cleared(std::uint16_t slot, instant now)
{
    const bool at_once = now - flight_[suspect_.number].sent_at <= rtt_.smoothed() + clearly();
    if (at_once && silence_.attempts() == 1 && slot != suspect_.slot)
        blame_missing(suspect_.slot, suspect_.sent_at, now);
    suspect_.number = -1;
}

// The selector is this QP's own and believes what it is told. The group is shared: it hears only of packets that are
// proven to have taken the path, or one peer could retire paths of all.
void requester::on_path_feedback(const sack_packet &sack, std::uint16_t slot, bool proven, instant now)
{
    selector_.on_feedback(slot, sack.m == MRC_SACK_M_NONE ? path_feedback::clean : path_feedback::congested);
    if (sack.m == MRC_SACK_M_ALWAYS_SKIP && proven)
        paths_.on_always_skip(slot, now);
}

// A packet that took this path then has reached the peer.
void requester::arrived(std::uint16_t slot, instant sent_at)
{
    paths_.on_delivered(slot, sent_at);
    peer_.on_delivered(paths_.path(slot).lane, sent_at);
    reached_ = std::max(reached_, sent_at);
}

// The packet flies no more. True when it was charged: the controller still has to hear of it.
bool requester::land(transmission &sent)
{
    --inflight_;
    (sent.charged ? charged_bytes_ : silent_bytes_) -= nominal(sent);
    return std::exchange(sent.charged, false);
}

std::optional<std::uint16_t> requester::on_probe_answer(const sack_packet &sack, const arrival &how, sack_scan &scan)
{
    const auto probe = tail_.take(sack.probe_id);
    if (!probe) {
        ++counters_.probes_rejected;
        return std::nullopt;
    }
    arrived(probe->slot, probe->sent_at);
    if (probe->clean) {
        if (how.at > probe->sent_at)
            control_.on_clean_rtt(how.at - probe->sent_at);
        return probe->slot;
    }
    detector_.proves(probe->slot, probe->in, probe->order);
    scan.age.proves(probe->in, probe->sent_at);
    scan.proves_retransmission = true;
    if (how.at > probe->sent_at)
        scan.rtt = how.at - probe->sent_at;
    return probe->slot;
}

// The round trip of the transmission that a SACK or NACK answers, if it is the packet's latest.
std::optional<duration> requester::match(const transmission &sent, std::optional<std::uint16_t> slot,
                                         std::uint16_t tx_timestamp, instant arrived) const
{
    const auto later = static_cast<std::uint16_t>(tx_timestamp - wire_timestamp(sent.sent_at));
    if (slot != sent.slot || later > (config_.service_time ? serviced_stamp_tolerance : stamp_tolerance))
        return std::nullopt;
    const instant stamped = sent.sent_at + duration{std::int64_t{later} << MRC_TS_TICK_SHIFT};
    return arrived > stamped ? std::optional{arrived - stamped} : std::nullopt;
}

// ack_psn: the packet that triggered the SACK, with its path and its sending time.
std::optional<std::uint16_t> requester::on_trigger(const sack_packet &sack, packet_number trigger, const arrival &how,
                                                   sack_scan &scan)
{
    if (trigger < next_ - static_cast<packet_number>(flight_.capacity()))
        return std::nullopt; // forgotten
    transmission &sent = flight_[trigger];
    std::optional<std::uint16_t> proven;
    const auto round_trip = match(sent, paths_.slot_of(sack.entropy), sack.tx_timestamp, how.at);
    if (round_trip && sack.retransmission == (sent.transmissions > 1)) {
        proven = sent.slot;
        if (!sent.certain) {
            sent.certain = true;
            arrived(sent.slot, sent.sent_at);
        }
        if (!sent.sampled) { // a duplicate of the packet would tell its own delay
            sent.sampled = true;
            scan.rtt = round_trip;
        }
        scan.proves_retransmission = sent.transmissions > 1;
        prove(sent, scan);
    }
    if (!sack.retransmission)
        count_spurious(sent);
    deliver(trigger, scan);
    return proven;
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
        (land(sent) ? scan.newly_bytes : credited_) += nominal(sent);
    } else if (sent.fate == packet_fate::lost) {
        lost_.erase(number);
    }
    // Confirmed sooner than the copy can have travelled.
    if (rtt_.has_sample() && scan.arrived - sent.sent_at < rtt_.minimum())
        count_spurious(sent);
    sent.fate = packet_fate::delivered;
    if (sent.transmissions == 1)
        skew_.on_delivered(sent.sent_at, scan.arrived, rtt_.smoothed());
    // Of several transmissions it is unknown which one arrived, unless the SACK names it.
    if (sent.transmissions == 1 && !sent.certain) {
        sent.certain = true;
        arrived(sent.slot, sent.sent_at);
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

// Dynamic MPR: the newest SACK's word holds.
void requester::follow_window(const sack_packet &sack, const sack_scan &scan)
{
    if (config_.dynamic_mpr && sack.mpr != 0 && scan.cack + 1 == edge())
        window_ = std::min<std::uint32_t>(sack.mpr * MRC_MPR_UNIT, config_.window_psns);
}

void requester::on_nack(const nack_packet &nack, const arrival &how, instant now)
{
    const packet_number number = space_.number_of(nack.sequence, edge());
    if (number < edge() || number >= next_) { // late, or forged
        ++counters_.nacks_rejected;
        return;
    }
    ++counters_.nacks;
    heard(now);
    const auto slot = paths_.slot_of(nack.entropy);
    transmission &sent = flight_[number];
    if (nack.reason == MRC_NACK_TRIMMED && slot)
        selector_.on_feedback(*slot, path_feedback::trimmed);
    const auto round_trip = match(sent, slot, nack.tx_timestamp, how.at);
    if (sent.fate != packet_fate::inflight || (!round_trip && nack.reason != MRC_NACK_UNEXP_EVENT)) {
        ++counters_.nacks_stale; // told before, or of an earlier transmission
        return;
    }
    if (nack.reason == MRC_NACK_UNEXP_EVENT) {
        failure_ = completion_status::remote_operation_error;
        return;
    }
    counters_.nacks_unknown += known_reason(nack.reason) ? 0 : 1;
    arrived(sent.slot, sent.sent_at); // trimmed or refused, but the path led there
    sent.nacked = true;
    const std::uint32_t charged = land(sent) ? nominal(sent) : 0;
    control_.on_nack({.bytes = charged, .reason = nack.reason, .rtt = round_trip}, now);
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

// Can the peer refuse this packet? Only of a request that it has not acknowledged. That all of it is SACKed, and more,
// does not matter: SACKed is not written, and NAKs get lost.
bool requester::refusable(packet_number number) const
{
    const send_request *oldest = queue_.oldest_unacked();
    return oldest != nullptr && number >= oldest->first;
}

void requester::on_transport_ack(const transport_ack_packet &ack, const arrival &how, instant now)
{
    const packet_number number = space_.number_of(ack.sequence, edge() - 1);
    const auto type = ack.syndrome & MRC_AETH_TYPE_MASK;
    const bool nak = type == MRC_AETH_TYPE_NAK;
    if (!nak && type != MRC_AETH_TYPE_ACK) {
        ++counters_.acks_unknown;
        return;
    }
    if (number >= next_ || (nak && !refusable(number))) {
        ++counters_.acks_rejected;
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
    // It says nothing about congestion, so the window learns of these bytes with the next SACK.
    if (scan.newly_bytes != 0)
        control_.on_abandoned(static_cast<std::uint32_t>(scan.newly_bytes));
    credited_ += scan.newly_bytes;
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
