// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/next_packet.h"

#include <algorithm>

#include "protocol/send/requester_trace.h"
#include "protocol/send/retransmission.h"
#include "protocol/send/segmentation.h"
#include "protocol/send/send_limit.h"
#include "protocol/send/timers.h"

namespace mrc::protocol
{

namespace
{

constexpr std::int64_t ack_generation_trigger = 16'384; // below such a window the responder's threshold never fires

std::optional<path_choice> draw(requester_state &sender, instant now, const path_avoidance &avoid = {})
{
    sender.selector.on_time(now, sender.rtt.smoothed());
    return sender.selector.draw(sender.way.paths, sender.way.usable(), avoid);
}

std::uint8_t dscp_of(const requester_state &sender, traffic_class in)
{
    if (!sender.config.trim_nack)
        return MRC_DSCP_NO_TRIM;
    return in == traffic_class::retransmission ? MRC_DSCP_TRIMMABLE_RETX : MRC_DSCP_TRIMMABLE;
}

outgoing probe_on(requester_state &sender, const path_choice &where, std::uint16_t id, std::uint8_t dscp,
                  trace_reason why, instant now)
{
    trace(sender.trace, [&] {
        return trace_event{trace_kind::probe, why, now, sender.config.local, sender.config.peer, {}, where.entropy, id};
    });
    probe_packet probe;
    probe.destination = sender.config.peer;
    probe.probe_id = id;
    probe.spdcid = static_cast<std::uint16_t>(sender.config.local.value);
    probe.dpdcid = static_cast<std::uint16_t>(sender.config.peer.value);
    probe.tx_timestamp = wire_timestamp(now);
    ++sender.counters.probes_sent;
    return {probe, {}, where.entropy, where.index, dscp, MRC_ECN_NOT_ECT};
}

// Reliability probes ride the class of data, or the same-EV rule would not hold for them.
outgoing ask(requester_state &sender, const path_choice &where, traffic_class in, trace_reason why, instant now)
{
    return probe_on(sender, where, sender.tail.on_sent(where.slot, in, ++sender.order, now), dscp_of(sender, in), why,
                    now);
}

// On the path of the oldest packet at first, if that may still be used; later ones look for a path that lives.
std::optional<outgoing> send_probe(requester_state &sender, instant now)
{
    const path_group &paths = sender.way.paths;
    std::optional<path_choice> where;
    traffic_class in = traffic_class::first_transmission;
    const transmission *oldest = sender.edge() < sender.next ? &sender.packets[sender.edge()] : nullptr;
    if (sender.tail.unanswered() == 0 && oldest != nullptr && oldest->fate == packet_fate::inflight &&
        paths.in_use(oldest->slot) && sender.way.usable().has(paths.path(oldest->slot).plane)) {
        where = paths.path(oldest->slot);
        in = oldest->in();
    } else {
        where = draw(sender, now);
    }
    if (!where || !sender.tail.hold())
        return std::nullopt;
    sender.due.probe = false;
    sender.due.probe_elsewhere = true;
    sender.probed = where->plane;
    sender.tail.on_round();
    return ask(sender, *where, in, trace_reason::tail, now);
}

std::optional<outgoing> send_probe_elsewhere(requester_state &sender, instant now)
{
    sender.due.probe_elsewhere = false;
    path_avoidance avoid;
    avoid.planes.set(sender.probed, true);
    const auto where = draw(sender, now, avoid);
    if (!where || where->plane == sender.probed || !sender.tail.hold())
        return std::nullopt;
    return ask(sender, *where, traffic_class::first_transmission, trace_reason::elsewhere, now);
}

// For congestion control: how long the round trip takes past the queues of data.
std::optional<outgoing> send_clean_probe(requester_state &sender, instant now)
{
    const std::optional<path_choice> where = draw(sender, now);
    if (!where || !sender.tail.hold())
        return std::nullopt;
    sender.due.clean_probe = false;
    return probe_on(sender, *where, sender.tail.on_clean_sent(where->slot, ++sender.order, now), MRC_DSCP_CONTROL,
                    trace_reason::clean, now);
}

std::optional<outgoing> make_data(const requester_state &sender, const send_request &request, packet_number number,
                                  const path_choice &where, trace_reason why, instant now)
{
    const bool retransmission = why != trace_reason::first;
    const std::uint32_t payload_bytes = sender.config.payload_bytes;
    // Built where the caller will find it: packets are too large to be copied from hand to hand.
    std::optional<outgoing> out{std::in_place};
    data_packet &data = out->content.emplace<data_packet>();
    describe(data, request, number, payload_bytes);
    data.destination = sender.config.peer;
    data.sequence = sender.space.at(number);
    // Ask for a SACK whenever nothing may follow soon: the window, the requests or the PSNs are used up (§3.1).
    const auto cwnd = static_cast<std::int64_t>(sender.control.cwnd());
    data.ack_request = cwnd - sender.control.inflight() < nominal_bytes(payload_bytes) ||
                       cwnd < ack_generation_trigger || !sender.window_open();
    data.retransmission = retransmission;
    data.tx_timestamp = wire_timestamp(now);
    const payload_source &source = request.work.source;
    out->payload = {source.lkey, source.address + offset_of(request, number, payload_bytes), data.payload_bytes};
    out->entropy = where.entropy;
    out->path = where.index;
    out->dscp = dscp_of(sender, retransmission ? traffic_class::retransmission : traffic_class::first_transmission);
    out->ecn = MRC_ECN_ECT0;
    trace_sent(sender, why, data, where.entropy, now);
    return out;
}

std::optional<outgoing> transmit(requester_state &sender, packet_number number, const path_choice &where, instant now)
{
    transmission &sent = sender.packets[number];
    sent.step(packet_event::transmit);
    sent.send_at(now);
    sent.order = ++sender.order;
    sent.slot = where.slot;
    sent.sampled = false;
    sent.nacked = false;
    sent.charged = !sender.silence.active();
    const bool retransmission = sent.transmissions > 1;
    sender.timers.arm(sender.packets.index(number), sender.retry.level(sent.failures), now);
    ++sender.flying.packets;
    (sent.charged ? sender.flying.charged_bytes : sender.flying.silent_bytes) += nominal(sent);
    if (sent.charged)
        sender.control.on_sent(nominal(sent), now);
    sender.way.paths.on_sent(where.slot, retransmission);
    sender.way.peer.on_sent(where.plane);
    sender.tail.on_activity(now);
    ++sender.counters.tx_packets;
    return make_data(sender, sender.queue.at(sent.request), number, where,
                     retransmission ? trace_reason::again : trace_reason::first, now);
}

std::optional<outgoing> send_lost(requester_state &sender, instant now)
{
    const packet_number number = sender.lost.lowest();
    // The window is for packets that fly. While the peer is silent nothing is known to fly: the oldest may go.
    const transmission &lost = sender.packets[number];
    const bool allowed = sender.silence.active() ? number == sender.edge() : may_fly(sender, nominal(lost));
    if (!allowed)
        return std::nullopt;
    path_avoidance avoid;
    avoid.planes.set(sender.way.paths.path(lost.slot).plane, true);
    if (lost.nacked)
        avoid.slot = lost.slot;
    const auto where = draw(sender, now, avoid);
    if (!where)
        return std::nullopt;
    sender.lost.erase(number);
    ++sender.counters.retransmits;
    return transmit(sender, number, *where, now);
}

// All has been SACKed but the Transport ACK is missing: a duplicate of the last packet makes every responder repeat it.
std::optional<outgoing> send_last_again(requester_state &sender, instant now)
{
    const send_request *oldest = sender.queue.oldest_unacked();
    if (oldest == nullptr || oldest->end() > sender.edge()) {
        sender.due.last_again = false;
        return std::nullopt;
    }
    const auto where = draw(sender, now);
    if (!where)
        return std::nullopt;
    sender.due.last_again = false;
    ++sender.counters.tx_packets;
    ++sender.counters.retransmits;
    sender.way.paths.on_sent(where->slot, true);
    return make_data(sender, *oldest, oldest->end() - 1, *where, trace_reason::last, now);
}

std::optional<outgoing> send_new(requester_state &sender, instant now)
{
    if (!may_start_next(sender))
        return std::nullopt;
    const transmission fresh = next_new(sender);
    if (!may_fly(sender, nominal(fresh)) || !sender.make_room())
        return std::nullopt;
    const auto where = draw(sender, now);
    if (!where)
        return std::nullopt;
    sender.packets[sender.next] = fresh; // not before it leaves: the packet that was there may still be spoken of
    if (!sender.waiting()) {             // these clocks run only while the peer owes an answer
        sender.heard_at = now;
        sender.progress_at = now;
    }
    sender.counters.tx_bytes += fresh.bytes;
    return transmit(sender, sender.next++, *where, now);
}

} // namespace

std::optional<outgoing> next_packet(requester_state &sender, instant now)
{
    if (sender.failure)
        return std::nullopt;
    look(sender, now);
    leave_dead_paths(sender, now);
    if (sender.due.probe)
        if (auto probe = send_probe(sender, now))
            return probe;
    if (sender.due.probe_elsewhere)
        if (auto probe = send_probe_elsewhere(sender, now))
            return probe;
    if (sender.due.clean_probe)
        if (auto probe = send_clean_probe(sender, now))
            return probe;
    if (!sender.lost.empty())
        return send_lost(sender, now);
    if (sender.due.last_again)
        if (auto again = send_last_again(sender, now))
            return again;
    if (sender.window_open() && !sender.silence.active())
        return send_new(sender, now);
    return std::nullopt;
}

} // namespace mrc::protocol
