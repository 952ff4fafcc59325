// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/acks.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "protocol/send/delivery.h"
#include "protocol/send/loss_inference.h"
#include "protocol/send/path_blame.h"
#include "protocol/send/requester_trace.h"
#include "protocol/send/retransmission.h"
#include "protocol/send/silence.h"

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

bool plausible(const requester_state &sender, const sack_packet &sack, const sack_scan &scan, packet_number trigger)
{
    if (scan.cack >= sender.next || (!sack.probe_response && trigger >= sender.next))
        return false;
    return sack.bitmap == 0 || scan.base + bitmap_bits - 1 - std::countl_zero(sack.bitmap) < sender.next;
}

// The selector is this QP's own and believes what it is told. The group is shared: it hears only of packets that are
// proven to have taken the path, or one peer could retire paths of all.
void on_path_feedback(requester_state &sender, const sack_packet &sack, std::uint16_t slot, bool proven, instant now)
{
    tell_selector(sender, slot, sack.m == MRC_SACK_M_NONE ? path_feedback::clean : path_feedback::congested, now);
    if (sack.m == MRC_SACK_M_ALWAYS_SKIP && proven)
        sender.way.paths.on_always_skip(slot, now);
}

// The path that the SACK is proven to speak of.
std::optional<std::uint16_t> on_probe_answer(requester_state &sender, const sack_packet &sack, const arrival &how,
                                             sack_scan &scan)
{
    const auto probe = sender.tail.take(sack.probe_id);
    if (!probe) {
        ++sender.counters.probes_rejected;
        return std::nullopt;
    }
    reached_peer(sender, probe->slot, probe->sent_at);
    if (probe->clean) {
        if (how.at > probe->sent_at)
            sender.control.on_clean_rtt(how.at - probe->sent_at);
        return probe->slot;
    }
    sender.same_path.proves(probe->slot, probe->in, probe->order);
    scan.age.proves(probe->in, probe->sent_at);
    scan.proves_retransmission = true;
    if (how.at > probe->sent_at)
        scan.rtt = how.at - probe->sent_at;
    return probe->slot;
}

// The round trip of the transmission that a SACK or NACK answers, if it is the packet's latest.
std::optional<duration> match(const requester_state &sender, const transmission &sent,
                              std::optional<std::uint16_t> slot, std::uint16_t tx_timestamp, instant arrived)
{
    const auto later = static_cast<std::uint16_t>(tx_timestamp - wire_timestamp(sent.sent_at));
    if (slot != sent.slot || later > (sender.config.service_time ? serviced_stamp_tolerance : stamp_tolerance))
        return std::nullopt;
    const instant stamped = sent.sent_at + duration{std::int64_t{later} << MRC_TS_TICK_SHIFT};
    return arrived > stamped ? std::optional{arrived - stamped} : std::nullopt;
}

// Of a packet's first transmission, as far as 16 bits of time reach: 8.39 ms.
void note_late_answer(requester_state &sender, std::uint16_t tx_timestamp, instant arrived)
{
    const auto ticks = static_cast<std::uint16_t>(wire_timestamp(arrived) - tx_timestamp);
    const duration took{std::int64_t{ticks} << MRC_TS_TICK_SHIFT};
    if (took > sender.rtt.smoothed())
        sender.skew.on_late(took - sender.rtt.smoothed(), arrived);
}

// ack_psn: the packet that triggered the SACK, with its path and its sending time. The path that it is proven to speak
// of.
std::optional<std::uint16_t> on_trigger(requester_state &sender, const sack_packet &sack, packet_number trigger,
                                        const arrival &how, sack_scan &scan)
{
    if (!sender.packets.remembers(trigger, sender.next)) {
        if (!sack.retransmission)
            note_late_answer(sender, sack.tx_timestamp, how.at);
        return std::nullopt;
    }
    transmission &sent = sender.packets[trigger];
    std::optional<std::uint16_t> proven;
    const auto round_trip = match(sender, sent, sender.way.paths.slot_of(sack.entropy), sack.tx_timestamp, how.at);
    if (round_trip && sack.retransmission == (sent.transmissions > 1)) {
        proven = sent.slot;
        if (!sent.certain) {
            sent.certain = true;
            reached_peer(sender, sent.slot, sent.sent_at);
        }
        if (!sent.sampled) { // a duplicate of the packet would tell its own delay
            sent.sampled = true;
            scan.rtt = round_trip;
        }
        scan.proves_retransmission = sent.transmissions > 1;
        add_proofs(sender, sent, scan);
    }
    if (!sack.retransmission)
        count_spurious(sender, sent, how.at);
    deliver(sender, trigger, scan);
    return proven;
}

// Dynamic MPR: the newest SACK's word holds.
void follow_window(requester_state &sender, const sack_packet &sack, const sack_scan &scan)
{
    if (sender.config.dynamic_mpr && sack.mpr != 0 && scan.cack + 1 == sender.edge())
        sender.window = std::min<std::uint32_t>(sack.mpr * MRC_MPR_UNIT, sender.config.window_psns);
}

// Can the peer refuse this packet? Only of a request that it has not acknowledged. That all of it is SACKed, and more,
// does not matter: SACKed is not written, and NAKs get lost.
bool refusable(const requester_state &sender, packet_number number)
{
    const send_request *oldest = sender.queue.oldest_unacked();
    return oldest != nullptr && number >= oldest->first;
}

completion_status failure_of(std::uint8_t syndrome)
{
    switch (syndrome) {
    case MRC_AETH_NAK_REMOTE_ACCESS:
        return completion_status::remote_access_error;
    case MRC_AETH_NAK_INVALID_REQUEST:
        return completion_status::remote_invalid_request;
    default:
        return completion_status::remote_operation_error;
    }
}

} // namespace

void on_sack(requester_state &sender, const sack_packet &sack, const arrival &how, instant now)
{
    sack_scan scan;
    scan.cack = sender.space.number_of(sack.cack, sender.edge() - 1);
    scan.base = scan.cack + sack.sack_offset;
    scan.bitmap = sack.bitmap;
    scan.arrived = how.at;
    const packet_number trigger = scan.cack + sack.ack_psn_offset;
    if (!plausible(sender, sack, scan, trigger)) {
        trace_answer(sender, trace_kind::sack, trace_reason::rejected, sack, how);
        ++sender.counters.sacks_rejected;
        return;
    }
    if (scan.cack < sender.edge() - 1 - 2 * static_cast<packet_number>(sender.config.window_psns)) {
        trace_answer(sender, trace_kind::sack, trace_reason::stale, sack, how);
        ++sender.counters.sacks_stale;
        return;
    }
    trace_answer(sender, trace_kind::sack, sack.probe_response ? trace_reason::probe_answer : trace_reason::accepted,
                 sack, how);
    ++sender.counters.sacks_received;
    sender.counters.penalties += sack.rcv_cwnd_penalty != 0 ? 1 : 0;
    on_heard(sender, now);
    const auto slot = sender.way.paths.slot_of(sack.entropy);

    sender.same_path.begin_sack();
    std::optional<std::uint16_t> proven;
    if (sack.probe_response)
        proven = on_probe_answer(sender, sack, how, scan);
    else if (trigger >= 0)
        proven = on_trigger(sender, sack, trigger, how, scan);
    if (slot)
        on_path_feedback(sender, sack, *slot, slot == proven, now);
    deliver_confirmed(sender, scan);
    if (scan.rtt)
        sender.rtt.on_sample(*scan.rtt, how.at);
    advance(sender, now);
    sender.skew.end_sack();
    infer_losses(sender, scan, now);
    infer_losses_by_count(sender, sack.ooo_count, now);
    follow_window(sender, sack, scan);
    sender.due.clean_probe = sender.control.take_clean_probe() || sender.due.clean_probe;
    sender.control.on_sack({.newly_bytes = scan.newly_bytes,
                            .credited_bytes = std::exchange(sender.credited_bytes, 0),
                            .congestion_experienced = sack.m != MRC_SACK_M_NONE,
                            .rtt = scan.rtt,
                            .receiver_penalty = sack.rcv_cwnd_penalty,
                            .restore_window = sack.restore_cwnd},
                           now);
}

void on_nack(requester_state &sender, const nack_packet &nack, const arrival &how, instant now)
{
    const packet_number number = sender.space.number_of(nack.sequence, sender.edge());
    if (number < sender.edge() || number >= sender.next) { // late, or forged
        trace_answer(sender, trace_kind::nack, trace_reason::rejected, nack, how);
        ++sender.counters.nacks_rejected;
        return;
    }
    ++sender.counters.nacks;
    on_heard(sender, now);
    const auto slot = sender.way.paths.slot_of(nack.entropy);
    transmission &sent = sender.packets[number];
    if (nack.reason == MRC_NACK_TRIMMED && slot)
        tell_selector(sender, *slot, path_feedback::trimmed, now);
    const auto round_trip = match(sender, sent, slot, nack.tx_timestamp, how.at);
    if (sent.fate != packet_fate::inflight || (!round_trip && nack.reason != MRC_NACK_UNEXP_EVENT)) {
        trace_answer(sender, trace_kind::nack, trace_reason::stale, nack, how);
        ++sender.counters.nacks_stale; // told before, or of an earlier transmission
        return;
    }
    trace_answer(sender, trace_kind::nack, trace_reason::accepted, nack, how);
    if (nack.reason == MRC_NACK_UNEXP_EVENT) {
        sender.failure = completion_status::remote_operation_error;
        return;
    }
    sender.counters.nacks_unknown += known_reason(nack.reason) ? 0 : 1;
    reached_peer(sender, sent.slot,
                 sent.sent_at); // trimmed or refused, but the path led there
    sent.nacked = true;
    const std::uint32_t charged = land(sender, sent) ? nominal(sent) : 0;
    sender.control.on_nack({.bytes = charged, .reason = nack.reason, .rtt = round_trip}, now);
    if (nack.reason == MRC_NACK_TRIMMED || nack.reason == MRC_NACK_TRIMMED_LASTHOP) {
        trace_loss(sender, trace_reason::nacked, number, now);
        give_up(sender, number);
    } else { // resources and windows recover with time, not by haste
        send_when_timer_ends(sender, number, now);
    }
}

void on_transport_ack(requester_state &sender, const transport_ack_packet &ack, const arrival &how, instant now)
{
    const packet_number number = sender.space.number_of(ack.sequence, sender.edge() - 1);
    const auto type = ack.syndrome & MRC_AETH_TYPE_MASK;
    const bool nak = type == MRC_AETH_TYPE_NAK;
    if (!nak && type != MRC_AETH_TYPE_ACK) {
        ++sender.counters.acks_unknown;
        return;
    }
    if (number >= sender.next || (nak && !refusable(sender, number))) {
        trace_answer(sender, trace_kind::ack, trace_reason::rejected, ack, how);
        ++sender.counters.acks_rejected;
        return;
    }
    trace_answer(sender, trace_kind::ack, nak ? trace_reason::nak : trace_reason::ack, ack, how);
    ++sender.counters.acks_received;
    on_heard(sender, now);
    // Cumulative: everything before it was executed, so it arrived.
    sack_scan scan;
    scan.cack = nak ? number - 1 : number;
    scan.arrived = how.at;
    deliver_confirmed(sender, scan);
    advance(sender, now);
    // It says nothing about congestion, so the window learns of these bytes with the next SACK.
    if (scan.newly_bytes != 0)
        sender.control.on_abandoned(static_cast<std::uint32_t>(scan.newly_bytes));
    sender.credited_bytes += scan.newly_bytes;
    if (sender.queue.acknowledge(scan.cack))
        sender.progress_at = now;
    if (nak)
        sender.failure = failure_of(ack.syndrome);
}

} // namespace mrc::protocol
