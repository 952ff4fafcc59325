// SPDX-License-Identifier: Apache-2.0
// Requester, sending: what leaves next.
#include "protocol/send/requester_state.h"

#include <algorithm>

namespace mrc::protocol
{

namespace
{

constexpr std::int64_t ack_generation_trigger = 16'384; // below such a window the responder's threshold never fires

std::uint8_t opcode_of(const send_request &request, packet_number number)
{
    const bool first = number == request.first;
    const bool last = number + 1 == request.end();
    const bool immediate = request.work.immediate.has_value();
    if (!last)
        return first ? MRC_OP_WRITE_FIRST : MRC_OP_WRITE_MIDDLE;
    if (first)
        return immediate ? MRC_OP_WRITE_ONLY_IMM : MRC_OP_WRITE_ONLY;
    return immediate ? MRC_OP_WRITE_LAST_IMM : MRC_OP_WRITE_LAST;
}

} // namespace

requester::requester(const qp_config &config, const route &way, path_selector &selector, congestion_control &control,
                     qp_counters &counters)
    : config_{config}, paths_{way.paths}, peer_ports_{way.peer_ports}, peer_{way.peer},
      suspects_planes_{way.suspects_planes}, selector_{selector}, control_{control}, counters_{counters},
      space_{config.first_send}, queue_{config.send_queue_depth, config.payload_bytes}, flight_{config.window_psns},
      delivered_{config.window_psns}, lost_{config.window_psns}, timers_{flight_.capacity()},
      detector_{paths_.proofs(), paths_.size()}, retry_{config.retry}, window_{config.window_psns},
      silence_generation_{paths_.silence_generation()}, reachable_{paths_.local().up & peer_reach()}
{
}

void requester::begin(const send_terms &terms)
{
    space_ = psn_space{terms.first};
    window_ = config_.window_psns = std::min(terms.window_psns, config_.window_psns);
    config_.max_wimm = terms.max_wimm;
    config_.retry = terms.retry;
    retry_ = retry_policy{terms.retry};
}

std::expected<void, post_error> requester::post(const write_request &work, instant)
{
    if (work.immediate && config_.max_wimm == 0)
        return std::unexpected{post_error::no_immediates};
    return queue_.post(work);
}

std::optional<path_choice> requester::draw(const path_avoidance &avoid)
{
    return selector_.draw(paths_, usable(), avoid);
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
    return next_ < queue_.end() && next_ < edge() + window_ - 1;
}

// A request that has not begun waits while the queue drains, or while the peer could not keep its immediate.
bool requester::may_start(const send_request &request) const
{
    return !draining_ && (!request.work.immediate || queue_.immediates_with(request) <= config_.max_wimm);
}

// What flew into silence counts in no shared window, but still for its own QP: what was swallowed is made up for as
// answers come, not in one burst.
bool requester::may_fly(std::uint32_t bytes) const
{
    return control_.can_send(bytes) &&
           (charged_bytes_ == 0 || charged_bytes_ + silent_bytes_ + bytes <= control_.cwnd());
}

std::uint32_t requester::payload_at(const send_request &request, packet_number number) const
{
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
    if (clean_probe_due_)
        if (auto probe = send_clean_probe(now))
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
        paths_.state(oldest.slot) == path_state::good && usable().has(paths_.path(oldest.slot).lane)) {
        where = paths_.path(oldest.slot);
        in = oldest.in();
    } else {
        where = draw();
    }
    if (!where)
        return std::nullopt;
    probe_due_ = false;
    // Reliability probes ride the class of data, or the same-EV rule would not hold for them.
    return probe_on(*where, tail_.on_sent(where->slot, in, ++order_, now), dscp_of(in), now);
}

// For congestion control: how long the round trip takes past the queues of data.
std::optional<outgoing> requester::send_clean_probe(instant now)
{
    const std::optional<path_choice> where = draw();
    if (!where)
        return std::nullopt;
    clean_probe_due_ = false;
    return probe_on(*where, tail_.on_clean_sent(where->slot, ++order_, now), MRC_DSCP_CONTROL, now);
}

outgoing requester::probe_on(const path_choice &where, std::uint16_t id, std::uint8_t dscp, instant now)
{
    probe_packet probe;
    probe.destination = config_.peer;
    probe.probe_id = id;
    probe.spdcid = static_cast<std::uint16_t>(config_.local.value);
    probe.dpdcid = static_cast<std::uint16_t>(config_.peer.value);
    probe.tx_timestamp = wire_timestamp(now);
    ++counters_.probes_sent;
    return {probe, {}, where.entropy, where.index, dscp, MRC_ECN_NOT_ECT};
}

std::optional<outgoing> requester::send_retransmission(instant now)
{
    const packet_number number = lost_.lowest();
    // The window is for packets that fly. While the peer is silent nothing is known to fly: the oldest may go.
    const transmission &lost = flight_[number];
    const bool allowed = silence_.active() ? number == edge() : may_fly(nominal(lost));
    if (!allowed)
        return std::nullopt;
    path_avoidance avoid;
    avoid.planes.set(paths_.path(lost.slot).lane, true);
    if (lost.nacked)
        avoid.slot = lost.slot;
    const auto where = draw(avoid);
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
    const auto where = draw();
    if (!where)
        return std::nullopt;
    last_again_due_ = false;
    ++counters_.tx_packets;
    ++counters_.retransmits;
    paths_.on_sent(where->slot, true);
    return make_data(*oldest, oldest->end() - 1, *where, true, now);
}

std::optional<outgoing> requester::send_new(instant now)
{
    const std::size_t request = queue_.index_for_new(next_);
    if (queue_.at(request).first == next_ && !may_start(queue_.at(request)))
        return std::nullopt;
    transmission fresh;
    fresh.request = static_cast<std::uint32_t>(request);
    fresh.bytes = static_cast<std::uint16_t>(payload_at(queue_.at(request), next_));
    if (!may_fly(nominal(fresh)))
        return std::nullopt;
    const auto where = draw();
    if (!where)
        return std::nullopt;
    flight_[next_] = fresh; // not before it leaves: the packet that was there may still be spoken of
    if (!waiting()) {       // these clocks run only while the peer owes an answer
        heard_at_ = now;
        progress_at_ = now;
    }
    counters_.tx_bytes += fresh.bytes;
    return transmit(next_++, *where, now);
}

std::optional<outgoing> requester::transmit(packet_number number, const path_choice &where, instant now)
{
    transmission &sent = flight_[number];
    sent.fate = packet_fate::inflight;
    sent.sent_at = now;
    sent.order = ++order_;
    sent.slot = where.slot;
    sent.transmissions = static_cast<std::uint8_t>(std::min(sent.transmissions + 1, 255));
    sent.sampled = false;
    sent.nacked = false;
    sent.charged = !silence_.active();
    const bool retransmission = sent.transmissions > 1;
    timers_.arm(flight_.index(number), retry_.level(sent.failures), now);
    ++inflight_;
    (sent.charged ? charged_bytes_ : silent_bytes_) += nominal(sent);
    if (sent.charged)
        control_.on_sent(nominal(sent), now);
    paths_.on_sent(where.slot, retransmission);
    peer_.on_sent(where.lane);
    tail_.on_activity(now);
    ++counters_.tx_packets;
    return make_data(queue_.at(sent.request), number, where, retransmission, now);
}

std::optional<outgoing> requester::make_data(const send_request &request, packet_number number,
                                             const path_choice &where, bool retransmission, instant now) const
{
    const std::uint64_t offset = static_cast<std::uint64_t>(number - request.first) * config_.payload_bytes;
    // Built where the caller will find it: packets are too large to be copied from hand to hand.
    std::optional<outgoing> out{std::in_place};
    out->payload = {request.work.source.lkey, request.work.source.address + offset, payload_at(request, number)};
    out->entropy = where.entropy;
    out->path = where.index;
    out->dscp = dscp_of(retransmission ? traffic_class::retransmission : traffic_class::first_transmission);
    out->ecn = MRC_ECN_ECT0;
    data_packet &data = out->content.emplace<data_packet>();
    data.opcode = opcode_of(request, number);
    data.destination = config_.peer;
    data.sequence = space_.at(number);
    // Ask for a SACK whenever nothing may follow soon: the window, the requests or the PSNs are used up (§3.1).
    const auto cwnd = static_cast<std::int64_t>(control_.cwnd());
    data.ack_request = cwnd - control_.inflight() < nominal_bytes(config_.payload_bytes) ||
                       cwnd < ack_generation_trigger || !window_open();
    data.retransmission = retransmission;
    data.msn = request.msn;
    if (request.work.immediate) {
        data.rqmsn = static_cast<std::uint16_t>(request.immediates);
        if (number + 1 == request.end()) {
            data.immediate = request.work.immediate;
            data.solicited = request.work.solicited;
        }
    }
    data.tx_timestamp = wire_timestamp(now);
    data.va = request.work.remote_va + offset;
    data.rkey = request.work.rkey;
    data.message_bytes = request.work.source.bytes;
    data.payload_bytes = out->payload.bytes;
    return out;
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
        if (land(sent))
            control_.on_abandoned(nominal(sent));
        sent.fate = packet_fate::unsent;
    }
    silence_.end();
}

} // namespace mrc::protocol
