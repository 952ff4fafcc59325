// SPDX-License-Identifier: Apache-2.0
// Requester, sending: what leaves next.
#include "protocol/requester.h"

#include <algorithm>

namespace mrc::protocol
{

namespace
{

constexpr std::uint64_t ack_generation_trigger = 16'384; // below such a window the responder's threshold never fires

std::uint8_t opcode_of(const send_request &request, packet_number number)
{
    const bool first = number == request.first;
    const bool last = number + 1 == request.end();
    if (first)
        return last ? MRC_OP_WRITE_ONLY : MRC_OP_WRITE_FIRST;
    return last ? MRC_OP_WRITE_LAST : MRC_OP_WRITE_MIDDLE;
}

} // namespace

requester::requester(const qp_config &config, path_group &paths, path_selector &selector, congestion_control &control,
                     qp_counters &counters)
    : config_{config}, paths_{paths}, selector_{selector}, control_{control}, counters_{counters},
      space_{config.first_send}, queue_{config.send_queue_depth, config.payload_bytes}, flight_{config.window_psns},
      delivered_{config.window_psns}, lost_{config.window_psns}, timers_{flight_.capacity()}, detector_{paths.size()},
      retry_{config.retry}, silence_generation_{paths.silence_generation()}, usable_planes_{paths.usable()}
{
}

std::expected<void, post_error> requester::post(const write_request &work, instant)
{
    return queue_.post(work);
}

// The peer owes an answer: a packet has not been confirmed, or a whole request has no Transport ACK.
bool requester::waiting() const
{
    if (edge() < next_)
        return true;
    const send_request *oldest = queue_.oldest_unacked();
    return oldest != nullptr && oldest->end() <= next_;
}

// The requester stays one short of the responder's window: sources differ by one on its upper edge (§2.3).
bool requester::window_open() const
{
    return next_ < queue_.end() && next_ < edge() + config_.window_psns - 1;
}

std::uint32_t requester::payload_of(packet_number number) const
{
    const send_request &request = queue_.at(flight_[number].request);
    const std::uint64_t offset = static_cast<std::uint64_t>(number - request.first) * config_.payload_bytes;
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(config_.payload_bytes, request.work.source.bytes - offset));
}

std::optional<outgoing> requester::next_packet(instant now)
{
    if (failure_)
        return std::nullopt;
    follow_paths(now);
    if (probe_due_)
        if (auto probe = send_probe(now))
            return probe;
    if (!lost_.empty())
        return send_retransmission(now);
    if (last_again_due_)
        if (auto again = send_last_again(now))
            return again;
    if (window_open() && !silence_.active())
        return send_new(now);
    return std::nullopt;
}

std::uint8_t requester::dscp_of(traffic_class in) const
{
    if (!config_.trim_nack)
        return MRC_DSCP_NO_TRIM;
    return in == traffic_class::retransmission ? MRC_DSCP_TRIMMABLE_RETX : MRC_DSCP_TRIMMABLE;
}

std::optional<outgoing> requester::send_probe(instant now)
{
    std::optional<path_choice> where;
    traffic_class in = traffic_class::first_transmission;
    const transmission &oldest = flight_[edge()];
    if (tail_.unanswered() == 0 && edge() < next_ && oldest.fate == packet_fate::inflight &&
        paths_.state(oldest.slot) == path_state::good && paths_.usable().has(paths_.path(oldest.slot).lane)) {
        where = paths_.path(oldest.slot);
        in = oldest.in();
    } else {
        where = selector_.draw(paths_);
    }
    if (!where)
        return std::nullopt;
    probe_due_ = false;
    probe_packet probe;
    probe.destination = config_.peer;
    probe.probe_id = tail_.on_sent(where->slot, in, ++order_, now);
    probe.spdcid = static_cast<std::uint16_t>(config_.local.value);
    probe.dpdcid = static_cast<std::uint16_t>(config_.peer.value);
    probe.tx_timestamp = wire_timestamp(now);
    ++counters_.probes_sent;
    // Reliability probes ride the class of data, or the same-EV rule would not hold for them.
    return outgoing{probe, {}, where->entropy, where->index, dscp_of(in), MRC_ECN_NOT_ECT};
}

std::optional<outgoing> requester::send_retransmission(instant now)
{
    const packet_number number = lost_.lowest();
    // The window is for packets that fly. While the peer is silent nothing is known to fly: the oldest may go.
    const bool allowed = silence_.active() ? number == edge() : control_.can_send(nominal_bytes(payload_of(number)));
    if (!allowed)
        return std::nullopt;
    plane_mask avoid;
    avoid.set(paths_.path(flight_[number].slot).lane, true);
    const auto where = selector_.draw(paths_, avoid);
    if (!where)
        return std::nullopt;
    lost_.erase(number);
    ++counters_.retransmits;
    return transmit(number, *where, now);
}

// All has been SACKed but the Transport ACK is missing: a duplicate of the last packet makes every responder repeat it.
std::optional<outgoing> requester::send_last_again(instant now)
{
    const send_request *oldest = queue_.oldest_unacked();
    if (oldest == nullptr || oldest->end() > edge()) {
        last_again_due_ = false;
        return std::nullopt;
    }
    const auto where = selector_.draw(paths_);
    if (!where)
        return std::nullopt;
    last_again_due_ = false;
    ++counters_.tx_packets;
    ++counters_.retransmits;
    paths_.on_sent(where->slot, now, true);
    return make_data(*oldest, oldest->end() - 1, *where, true, now);
}

std::optional<outgoing> requester::send_new(instant now)
{
    const std::size_t request = queue_.index_for_new(next_);
    transmission &fresh = flight_[next_];
    fresh = transmission{};
    fresh.request = static_cast<std::uint32_t>(request);
    const std::uint32_t payload = payload_of(next_);
    if (!control_.can_send(nominal_bytes(payload)))
        return std::nullopt;
    const auto where = selector_.draw(paths_);
    if (!where)
        return std::nullopt;
    if (!waiting()) { // these clocks run only while the peer owes an answer
        heard_at_ = now;
        progress_at_ = now;
    }
    counters_.tx_bytes += payload;
    return transmit(next_++, *where, now);
}

outgoing requester::transmit(packet_number number, const path_choice &where, instant now)
{
    transmission &sent = flight_[number];
    sent.fate = packet_fate::inflight;
    sent.sent_at = now;
    sent.order = ++order_;
    sent.slot = where.slot;
    sent.transmissions = static_cast<std::uint8_t>(std::min(sent.transmissions + 1, 255));
    const bool retransmission = sent.transmissions > 1;
    timers_.arm(flight_.index(number), retry_.level(sent.failures), now);
    ++inflight_;
    control_.on_sent(nominal_bytes(payload_of(number)), now);
    paths_.on_sent(where.slot, now, retransmission);
    tail_.on_activity(now);
    ++counters_.tx_packets;
    return make_data(queue_.at(sent.request), number, where, retransmission, now);
}

outgoing requester::make_data(const send_request &request, packet_number number, const path_choice &where,
                              bool retransmission, instant now) const
{
    const std::uint64_t offset = static_cast<std::uint64_t>(number - request.first) * config_.payload_bytes;
    const auto bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(config_.payload_bytes, request.work.source.bytes - offset));
    data_packet data;
    data.opcode = opcode_of(request, number);
    data.destination = config_.peer;
    data.sequence = space_.at(number);
    // Ask for a SACK whenever nothing may follow soon: the window, the requests or the PSNs are used up (§3.1).
    const std::int64_t room = static_cast<std::int64_t>(control_.cwnd()) - control_.inflight();
    data.ack_request =
        room < nominal_bytes(config_.payload_bytes) || control_.cwnd() < ack_generation_trigger || !window_open();
    data.retransmission = retransmission;
    data.msn = request.msn;
    data.tx_timestamp = wire_timestamp(now);
    data.va = request.work.remote_va + offset;
    data.rkey = request.work.rkey;
    data.message_bytes = request.work.source.bytes;
    data.payload_bytes = bytes;
    return outgoing{data,
                    {request.work.source.lkey, request.work.source.address + offset, bytes},
                    where.entropy,
                    where.index,
                    dscp_of(retransmission ? traffic_class::retransmission : traffic_class::first_transmission),
                    MRC_ECN_ECT0};
}

void requester::fail(completion_status status)
{
    if (!failure_)
        failure_ = status;
    queue_.fail(status);
    for (packet_number number = edge(); number < next_; ++number) {
        transmission &sent = flight_[number];
        timers_.disarm(flight_.index(number));
        if (sent.fate != packet_fate::inflight)
            continue;
        control_.on_abandoned(nominal_bytes(payload_of(number)));
        sent.fate = packet_fate::unsent;
    }
    inflight_ = 0;
    silence_.end();
}

} // namespace mrc::protocol
