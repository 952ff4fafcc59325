// SPDX-License-Identifier: Apache-2.0
#include "protocol/receive/responder.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace mrc::protocol
{

namespace
{

constexpr std::uint32_t sack_threshold = 16 * 1024; // UET ACK_Gen_Trigger
constexpr std::uint32_t sack_least_count = 1024;    // UET ACK_Gen_Min_Pkt_Add
constexpr std::uint32_t longest_payload = 4096;
constexpr packet_number half_psn_space = 1 << 23;
constexpr std::uint8_t longest_penalty = 127;
// One NACK PSN_OOR_WINDOW per PSN, and at most sixteen, in so long: about one RTT of a software fabric.
constexpr duration beyond_interval = std::chrono::microseconds{250};

bool ends_message(std::uint8_t opcode)
{
    return opcode != MRC_OP_WRITE_FIRST && opcode != MRC_OP_WRITE_MIDDLE;
}

bool has_immediate(std::uint8_t opcode)
{
    return opcode == MRC_OP_WRITE_LAST_IMM || opcode == MRC_OP_WRITE_ONLY_IMM;
}

std::uint8_t nak_for(write_refusal why)
{
    switch (why) {
    case write_refusal::unknown_key:
    case write_refusal::out_of_bounds:
    case write_refusal::no_permission:
        return MRC_AETH_NAK_REMOTE_ACCESS;
    case write_refusal::fault:
    case write_refusal::busy: // never refused for good
        return MRC_AETH_NAK_REMOTE_OPERATION;
    }
    return MRC_AETH_NAK_REMOTE_OPERATION;
}

constexpr trace_reason traced(reception what)
{
    return static_cast<trace_reason>(static_cast<int>(trace_reason::fresh) + static_cast<int>(what));
}
static_assert(traced(reception::trimmed_unanswered) == trace_reason::trimmed_unanswered &&
              traced(reception::beyond_window) == trace_reason::beyond_window);

} // namespace

responder::responder(const qp_config &config, memory_sink &memory, qp_counters &counters, slab_pool *pool,
                     trace_sink *trace)
    : local_{config.local}, peer_{config.peer}, answer_trimmed_{config.answer_trimmed},
      nack_out_of_window_{config.nack_out_of_window}, dynamic_mpr_{config.dynamic_mpr},
      service_time_{config.service_time}, backlog_mark_{config.backlog_mark}, space_{config.first_receive},
      memory_{memory}, counters_{counters}, pool_{pool}, trace_{trace_or_none(trace)},
      received_{config.receive_window_psns, pool}, ends_{config.receive_window_psns, pool},
      immediate_ends_{config.receive_window_psns, pool}, immediates_{config.receive_max_wimm, pool},
      receives_{config.receive_queue_depth, pool}, sacks_{pool}, nacks_{nack_capacity, pool}
{
}

void responder::rest()
{
    if (received_.above_edge() == 0) {
        received_.rest();
        ends_.rest();
        immediate_ends_.rest();
    }
    immediates_.rest();
    receives_.rest();
    sacks_.rest();
    nacks_.rest();
}

void responder::announce() const
{
    received_.announce();
    ends_.announce();
    immediate_ends_.announce();
    immediates_.announce();
    receives_.announce();
    sacks_.announce();
    nacks_.announce();
}

void responder::set_penalty(std::uint8_t penalty)
{
    penalty_ = std::min(penalty, longest_penalty);
}

void responder::set_share(unsigned share)
{
    restore_ = dynamic_mpr_ && penalty_ == 0 && share == whole_window && share_ != whole_window;
    share_ = static_cast<std::uint8_t>(share);
}

void responder::fail()
{
    failed_ = true;
    receives_.flush();
}

bool responder::well_formed(const data_packet &data, std::span<const std::byte> payload) const
{
    return data.opcode >= MRC_OP_WRITE_FIRST && data.opcode <= MRC_OP_WRITE_ONLY_IMM &&
           payload.size() == data.payload_bytes && data.payload_bytes <= longest_payload &&
           data.payload_bytes <= data.message_bytes && data.message_bytes <= MRC_MAX_MESSAGE;
}

inline reception responder::classify(const data_packet &data, std::span<const std::byte> payload, packet_number number,
                                     const arrival &how) const
{
    using enum reception;
    const packet_number edge = received_.edge();
    const bool beyond = number >= edge + received_.window();
    const bool known = received_.test(number);
    if (how.trimmed) {
        if (!answer_trimmed_ || beyond || known)
            return trimmed_unanswered;
        return how.trimmed_last_hop ? trimmed_last_hop : trimmed;
    }
    if (!well_formed(data, payload))
        return malformed;
    if (number < 0 || number <= edge - half_psn_space)
        return out_of_reach;
    if (beyond)
        return beyond_window;
    if (known)
        return number < edge ? below_edge : marked;
    if (refused_ && number >= refused_->number)
        return behind_refusal;
    return failed_ ? unexpected : fresh;
}

void responder::on_data(const data_packet &data, std::span<const std::byte> payload, const arrival &how, instant now)
{
    // A trimmed packet has no ICRC: it is believed about nothing but its own PSN.
    const packet_number number = space_.number_of(data.sequence, received_.edge());
    reception what = classify(data, payload, number, how);
    if ((what == reception::fresh || what == reception::behind_refusal) && !make_room(data))
        what = reception::no_memory;
    if (what == reception::fresh)
        what = place(data, payload, number);
    trace_arrival(traced(what), data.sequence, payload.size(), how);
    const auto follow = [&](const acceptance &rule) __attribute__((always_inline)) {
        ++(counters_.*rule.counter);
        counters_.rx_congested += rule.congestion && how.congestion_experienced ? 1 : 0;
        if (rule.arrives)
            accept(data, number, how);
        if (rule.acked_again)
            acknowledge_again(how.path);
        if (rule.sack != sack_rule::none)
            trigger_sack(data, number, how, rule.sack == sack_rule::at_once, now);
        if (rule.nack != 0 && (what != reception::beyond_window || may_answer_beyond(data.sequence, now)))
            send_nack(data, rule.nack, how);
    };
    if (what == reception::fresh) [[likely]] // its row is a constant here, and costs nothing
        follow(rule_of(reception::fresh));
    else
        follow(rule_of(what));
}

// To mark the packet, and for what it may bring and complete. False: the pool is empty.
inline bool responder::make_room(const data_packet &data)
{
    // They are borrowed in this order, and given back together: with the last of them, all are there.
    if (!immediate_ends_.held() && (!received_.hold() || !ends_.hold() || !immediate_ends_.hold()))
        return false;
    const bool immediate = has_immediate(data.opcode);
    if (!immediate && immediates_.waiting() == 0)
        return true;
    return (!immediate || immediates_.make_room(data.rqmsn)) && receives_.make_room(immediates_.waiting() + 1);
}

bool responder::may_answer_beyond(psn sequence, instant now)
{
    if (!nack_out_of_window_)
        return false;
    if (now >= beyond_.until) {
        beyond_.until = now + beyond_interval;
        beyond_.count = 0;
    }
    const std::span reported{beyond_.sequences.data(), beyond_.count};
    if (beyond_.count == beyond_.sequences.size() || std::ranges::find(reported, sequence) != reported.end())
        return false;
    beyond_.sequences[beyond_.count++] = sequence;
    return true;
}

inline void responder::trace_arrival(trace_reason what, psn sequence, std::uint64_t value, const arrival &how) const
{
    trace(trace_,
          [&] { return trace_event{trace_kind::arrive, what, how.at, local_, peer_, sequence, how.entropy, value}; });
}

void responder::send_nack(const data_packet &data, std::uint8_t reason, const arrival &how)
{
    nack_packet nack;
    nack.destination = peer_;
    nack.reason = reason;
    nack.entropy = how.entropy;
    nack.spdcid = static_cast<std::uint16_t>(peer_.value);
    nack.dpdcid = static_cast<std::uint16_t>(local_.value);
    nack.sequence = data.sequence;
    nack.tx_timestamp = data.tx_timestamp.value_or(0);
    counters_.control_dropped += nacks_.push({nack, how.path, how.at}) ? 0 : 1;
}

inline void responder::accept(const data_packet &data, packet_number number, const arrival &how)
{
    received_.mark(number);
    if (ends_message(data.opcode))
        ends_.set(number);
    if (has_immediate(data.opcode))
        immediate_ends_.set(number);
    received_bytes_ += how.wire_bytes;
    acknowledged_path_ = how.path;
    if (data.payload_bytes != 0)
        count_progress(how.at);
    if (!holds_)
        advance_edge();
}

void responder::settle()
{
    if (std::exchange(holds_, false))
        advance_edge();
}

void responder::refuse_held(packet_number number, std::size_t payload_bytes)
{
    counters_.rx_bytes -= payload_bytes;
    refuse(number, nak_for(write_refusal::unknown_key));
}

// What can be had later refuses the packet; whatever else goes wrong is remembered as a refusal.
reception responder::place(const data_packet &data, std::span<const std::byte> payload, packet_number number)
{
    const bool immediate = has_immediate(data.opcode);
    if (immediate && !has_place_for_receive(data.rqmsn))
        return reception::receives_taken;
    const auto written = memory_.place(number, data.rkey, data.va, payload);
    if (!written && written.error() == write_refusal::busy)
        return reception::memory_busy;
    if (!written)
        refuse(number, nak_for(written.error()));
    else
        counters_.rx_bytes += payload.size();
    holds_ |= written && *written == placement::held;
    if (immediate)
        stash_immediate(data, number);
    return reception::fresh;
}

// For itself and for all before it, which take theirs first: so the next one is never kept out by those behind it.
bool responder::has_place_for_receive(std::uint16_t rqmsn) const
{
    return !immediates_.is_allowed(rqmsn) || immediates_.ahead(rqmsn) < receives_.room();
}

void responder::stash_immediate(const data_packet &data, packet_number number)
{
    const stashed_immediate item{.number = number,
                                 .immediate = data.immediate.value_or(0),
                                 .message_bytes = data.message_bytes,
                                 .solicited = data.solicited};
    if (immediates_.put(data.rqmsn, item))
        return;
    ++counters_.rx_bad_immediate;
    refuse(number, MRC_AETH_NAK_INVALID_REQUEST);
}

void responder::refuse(packet_number number, std::uint8_t syndrome)
{
    ++counters_.rx_refused;
    if (!refused_ || number < refused_->number)
        refused_ = refusal{number, syndrome};
}

void responder::advance_edge()
{
    const packet_number before = received_.edge();
    const packet_number edge = received_.advance();
    for (packet_number number = before; number < edge; ++number) {
        const bool last = ends_.take(number);
        const bool immediate = immediate_ends_.take(number);
        if (!last || (refused_ && number >= refused_->number) || (immediate && !deliver_immediate(number)))
            continue;
        ++completed_;
        last_end_ = number;
        ack_due_ = true;
    }
    if (refused_ && edge > refused_->number && !failure_) {
        nak_due_ = true;
        failure_ = completion_status::flushed;
    }
}

// Everything up to the message's last packet has arrived: its immediate is due.
bool responder::deliver_immediate(packet_number last)
{
    const auto item = immediates_.take(last);
    if (!item) { // its rqmsn is not the next one
        ++counters_.rx_bad_immediate;
        refuse(last, MRC_AETH_NAK_INVALID_REQUEST);
        return false;
    }
    if (receives_.complete(item->message_bytes, item->immediate, item->solicited))
        return true;
    ++counters_.rx_no_receive;
    refuse(last, MRC_AETH_NAK_REMOTE_OPERATION);
    return false;
}

void responder::count_progress(instant at)
{
    if (progress_.last_arrival && at <= *progress_.last_arrival)
        return;
    if (progress_.last_arrival)
        progress_.longest_gap = std::max(progress_.longest_gap, at - *progress_.last_arrival);
    progress_.last_arrival = at;
}

void responder::trigger_sack(const data_packet &data, packet_number number, const arrival &how, bool duplicate,
                             instant now)
{
    since_sack_ += std::max(data.payload_bytes, sack_least_count);
    const bool due = since_sack_ > sack_threshold;
    if (!due && !data.ack_request && !how.congestion_experienced && !data.retransmission && !duplicate)
        return;
    const sack_trigger trigger{.number = number,
                               .entropy = how.entropy,
                               .tx_timestamp = data.tx_timestamp.value_or(0),
                               .congested = how.congestion_experienced,
                               .retransmission = data.retransmission,
                               .due = due,
                               .path = how.path,
                               .arrived = how.at,
                               .penalty = backlog_penalty(now - how.at, backlog_mark_)};
    const pending_sacks::outcome outcome = put(trigger);
    if (outcome == pending_sacks::outcome::queued || outcome == pending_sacks::outcome::displaced)
        since_sack_ = 0;
}

pending_sacks::outcome responder::put(const sack_trigger &trigger)
{
    const pending_sacks::outcome outcome = sacks_.put(trigger);
    const bool one_gone = outcome == pending_sacks::outcome::displaced || outcome == pending_sacks::outcome::no_memory;
    counters_.control_dropped += one_gone ? 1 : 0;
    return outcome;
}

void responder::acknowledge_again(path_index path)
{
    acknowledged_path_ = path;
    ack_due_ = ack_due_ || last_end_ >= 0;
    nak_due_ = nak_due_ || (refused_ && received_.edge() > refused_->number);
}

void responder::on_probe(const probe_packet &probe, const arrival &how)
{
    trace_arrival(trace_reason::probe, {}, probe.probe_id, how);
    const sack_trigger trigger{.number = received_.edge() - 1,
                               .entropy = how.entropy,
                               .tx_timestamp = probe.tx_timestamp,
                               .probe_id = probe.probe_id,
                               .probe = true,
                               .congested = how.congestion_experienced,
                               .path = how.path,
                               .arrived = how.at};
    put(trigger);
    // A requester that probes may have missed a Transport ACK: only this tells it that its writes are done.
    acknowledge_again(how.path);
}

bool responder::has_answer() const
{
    return ack_due_ || nak_due_ || !nacks_.empty() || !sacks_.empty();
}

path_index responder::next_cause() const
{
    if (!nacks_.empty())
        return nacks_.front().path;
    return sacks_.empty() ? acknowledged_path_ : sacks_.front().path;
}

// The Transport ACK last: a SACK that follows it would find its packets confirmed, and its news about congestion stale.
std::optional<packet> responder::next_answer(instant now)
{
    if (!nacks_.empty()) {
        ++counters_.nacks_sent;
        pending_nack nack = nacks_.pop();
        nack.content.tx_timestamp = reflected(nack.content.tx_timestamp, nack.arrived, now);
        return nack.content;
    }
    if (!sacks_.empty()) {
        ++counters_.sacks_sent;
        return make_sack(sacks_.pop(), now);
    }
    if (ack_due_) {
        ack_due_ = false;
        ++counters_.acks_sent;
        return make_ack();
    }
    if (nak_due_ && refused_) {
        nak_due_ = false;
        ++counters_.acks_sent;
        transport_ack_packet nak = make_ack();
        nak.sequence = space_.at(refused_->number);
        nak.syndrome = refused_->syndrome;
        return nak;
    }
    return std::nullopt;
}

transport_ack_packet responder::make_ack() const
{
    transport_ack_packet ack;
    ack.destination = peer_;
    ack.sequence = space_.at(last_end_);
    ack.msn = completed_ & MRC_PSN_MASK;
    return ack;
}

// The service time is added when both ends know of it: the requester's RTT is then the network's.
std::uint16_t responder::reflected(std::uint16_t stamp, instant arrived, instant now) const
{
    if (!service_time_ || now <= arrived)
        return stamp;
    return static_cast<std::uint16_t>(stamp + ((now - arrived).count() >> MRC_TS_TICK_SHIFT));
}

// D6: the bitmap slides with the trigger, so that the newest arrivals are always reported; every fourth begins at the
// edge, and every fourth sweeps what lies between, so that no gap of a window larger than two bitmaps stays unreported.
packet_number responder::bitmap_base(const sack_trigger &trigger)
{
    const packet_number edge = received_.edge();
    const packet_number newest = trigger.number - (MRC_SACK_BITMAP_BITS - 1);
    if (trigger.probe || newest <= edge)
        return edge;
    switch (view_++ % 4) {
    case 1:
        return edge;
    case 3:
        sweep_ = sweep_ < edge || sweep_ + MRC_SACK_BITMAP_BITS >= newest ? edge : sweep_ + MRC_SACK_BITMAP_BITS;
        return sweep_;
    default:
        return newest;
    }
}

sack_packet responder::make_sack(const sack_trigger &trigger, instant now)
{
    const packet_number cack = received_.edge() - 1;
    sack_packet sack;
    sack.destination = peer_;
    sack.retransmission = trigger.retransmission;
    sack.m = trigger.congested ? MRC_SACK_M_SKIP_ONCE : MRC_SACK_M_NONE;
    sack.probe_response = trigger.probe;
    sack.probe_id = trigger.probe_id;
    sack.entropy = trigger.entropy;
    sack.spdcid = static_cast<std::uint16_t>(peer_.value);
    sack.dpdcid = static_cast<std::uint16_t>(local_.value);
    sack.cack = space_.at(cack);
    // An old duplicate may lie further back than 16 bits reach: then cack itself is named, which is just as true.
    const packet_number offset = trigger.number - cack;
    sack.ack_psn_offset = static_cast<std::int16_t>(!trigger.probe && std::in_range<std::int16_t>(offset) ? offset : 0);
    const packet_number base = bitmap_base(trigger);
    sack.mpr = dynamic_mpr_ ? offered_units(received_.window(), share_, pool_) : std::uint8_t{0};
    sack.sack_offset = static_cast<std::int16_t>(base - cack);
    sack.bitmap = received_.extract(base);
    sack.tx_timestamp = reflected(trigger.tx_timestamp, trigger.arrived, now);
    sack.ooo_count = static_cast<std::uint16_t>(received_.above_edge());
    sack.rcvd_units = static_cast<std::uint32_t>((received_bytes_ + 255) >> MRC_CC_RCVD_UNIT_SHIFT) & MRC_CC_RCVD_MASK;
    sack.rcv_cwnd_penalty = std::max(penalty_, trigger.penalty);
    sack.restore_cwnd = restore_ && sack.rcv_cwnd_penalty == 0;
    return sack;
}

} // namespace mrc::protocol
