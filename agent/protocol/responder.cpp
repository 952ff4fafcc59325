// SPDX-License-Identifier: Apache-2.0
#include "protocol/responder.h"

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
constexpr packet_number word_bits = 64;
// One PSN_OOR_WINDOW NACK per so long: about one RTT of a software fabric.
constexpr duration beyond_interval = std::chrono::microseconds{250};

bool ends_message(std::uint8_t opcode)
{
    return opcode != MRC_OP_WRITE_FIRST && opcode != MRC_OP_WRITE_MIDDLE;
}

std::uint8_t nak_for(write_refusal why)
{
    switch (why) {
    case write_refusal::unknown_key:
    case write_refusal::out_of_bounds:
    case write_refusal::no_permission:
        return MRC_AETH_NAK_REMOTE_ACCESS;
    case write_refusal::fault:
        return MRC_AETH_NAK_REMOTE_OPERATION;
    }
    return MRC_AETH_NAK_REMOTE_OPERATION;
}

} // namespace

responder::responder(const qp_config &config, memory_sink &memory, qp_counters &counters)
    : local_{config.local}, peer_{config.peer}, answer_trimmed_{config.answer_trimmed},
      nack_out_of_window_{config.nack_out_of_window}, space_{config.first_receive}, memory_{memory},
      counters_{counters}, received_{config.window_psns},
      ends_(std::bit_ceil(std::size_t{config.window_psns} / word_bits + 2))
{
}

bool responder::well_formed(const data_packet &data, std::span<const std::byte> payload) const
{
    return data.opcode >= MRC_OP_WRITE_FIRST && data.opcode <= MRC_OP_WRITE_ONLY_IMM &&
           payload.size() == data.payload_bytes && data.payload_bytes <= longest_payload &&
           data.payload_bytes <= data.message_bytes && data.message_bytes <= MRC_MAX_MESSAGE;
}

void responder::on_data(const data_packet &data, std::span<const std::byte> payload, const arrival &how, instant now)
{
    const packet_number edge = received_.edge();
    const packet_number number = space_.number_of(data.sequence, edge);
    if (how.trimmed) {
        on_trimmed(data, number, how);
        return;
    }
    if (!well_formed(data, payload)) {
        ++counters_.rx_malformed;
        return;
    }
    if (number < 0) { // before the first packet of the QP
        ++counters_.rx_out_of_window;
        return;
    }
    if (number >= edge + received_.window()) {
        on_beyond_window(data, how, now);
        return;
    }
    if (how.congestion_experienced)
        ++counters_.rx_congested;
    const bool duplicate = received_.test(number);
    if (!duplicate) {
        accept(data, payload, number, how);
    } else {
        ++counters_.rx_duplicates;
        if (number < edge)
            acknowledge_again();
    }
    trigger_sack(data, number, how, duplicate);
}

// A trimmed packet has no ICRC: it is believed about nothing but its own PSN.
void responder::on_trimmed(const data_packet &data, packet_number number, const arrival &how)
{
    ++counters_.rx_trimmed;
    if (!answer_trimmed_ || number >= received_.edge() + received_.window() || received_.test(number))
        return;
    send_nack(data, how.trimmed_last_hop ? MRC_NACK_TRIMMED_LASTHOP : MRC_NACK_TRIMMED, how);
}

void responder::on_beyond_window(const data_packet &data, const arrival &how, instant now)
{
    ++counters_.rx_out_of_window;
    if (!nack_out_of_window_ || (last_beyond_ && now - *last_beyond_ < beyond_interval))
        return;
    last_beyond_ = now;
    send_nack(data, MRC_NACK_PSN_OOR_WINDOW, how);
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
    counters_.control_dropped += nacks_.push(nack) ? 0 : 1;
}

void responder::accept(const data_packet &data, std::span<const std::byte> payload, packet_number number,
                       const arrival &how)
{
    received_.mark(number);
    if (ends_message(data.opcode)) {
        const auto word = static_cast<std::size_t>(number / word_bits) & (ends_.size() - 1);
        ends_[word] |= std::uint64_t{1} << (number % word_bits);
    }
    ++counters_.rx_packets;
    received_bytes_ += how.wire_bytes;
    if (!refused_ || number < refused_->number)
        place(data, payload, number);
    if (!payload.empty())
        count_progress(how.at);
    advance_edge();
}

void responder::place(const data_packet &data, std::span<const std::byte> payload, packet_number number)
{
    // Immediates need receive requests, of which this QP has none: max_wimm = 0.
    if (data.opcode == MRC_OP_WRITE_LAST_IMM || data.opcode == MRC_OP_WRITE_ONLY_IMM) {
        refuse(number, MRC_AETH_NAK_INVALID_REQUEST);
        return;
    }
    const auto written = memory_.write(data.rkey, data.va, payload);
    if (!written) {
        refuse(number, nak_for(written.error()));
        return;
    }
    counters_.rx_bytes += payload.size();
}

void responder::refuse(packet_number number, std::uint8_t syndrome)
{
    ++counters_.rx_refused;
    if (!refused_ || number < refused_->number)
        refused_ = refusal{number, syndrome};
}

bool responder::take_end(packet_number number)
{
    std::uint64_t &word = ends_[static_cast<std::size_t>(number / word_bits) & (ends_.size() - 1)];
    const std::uint64_t bit = std::uint64_t{1} << (number % word_bits);
    const bool end = (word & bit) != 0;
    word &= ~bit;
    return end;
}

void responder::advance_edge()
{
    const packet_number before = received_.edge();
    const packet_number edge = received_.advance();
    for (packet_number number = before; number < edge; ++number) {
        if (!take_end(number) || (refused_ && number >= refused_->number))
            continue;
        ++completed_;
        last_end_ = number;
        ack_due_ = true;
    }
    if (refused_ && edge > refused_->number && before <= refused_->number)
        nak_due_ = true;
}

void responder::count_progress(instant at)
{
    if (progress_.last_arrival && at <= *progress_.last_arrival)
        return;
    if (progress_.last_arrival)
        progress_.longest_gap = std::max(progress_.longest_gap, at - *progress_.last_arrival);
    progress_.last_arrival = at;
}

void responder::trigger_sack(const data_packet &data, packet_number number, const arrival &how, bool duplicate)
{
    since_sack_ += std::max(data.payload_bytes, sack_least_count);
    if (since_sack_ <= sack_threshold && !data.ack_request && !how.congestion_experienced && !data.retransmission &&
        !duplicate)
        return;
    since_sack_ = 0;
    const sack_trigger trigger{.number = number,
                               .entropy = how.entropy,
                               .tx_timestamp = data.tx_timestamp.value_or(0),
                               .congested = how.congestion_experienced,
                               .retransmission = data.retransmission};
    counters_.control_dropped += sacks_.push(trigger) ? 0 : 1;
}

void responder::acknowledge_again()
{
    ack_due_ = ack_due_ || last_end_ >= 0;
    nak_due_ = nak_due_ || (refused_ && received_.edge() > refused_->number);
}

void responder::on_probe(const probe_packet &probe, const arrival &how)
{
    const sack_trigger trigger{.number = received_.edge() - 1,
                               .entropy = how.entropy,
                               .tx_timestamp = probe.tx_timestamp,
                               .probe_id = probe.probe_id,
                               .probe = true,
                               .congested = how.congestion_experienced};
    counters_.control_dropped += sacks_.push(trigger) ? 0 : 1;
    // A requester that probes may have missed a Transport ACK: only this tells it that its writes are done.
    acknowledge_again();
}

bool responder::has_answer() const
{
    return ack_due_ || nak_due_ || !nacks_.empty() || !sacks_.empty();
}

std::optional<packet> responder::next_answer()
{
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
    if (!nacks_.empty()) {
        ++counters_.nacks_sent;
        return nacks_.pop();
    }
    if (!sacks_.empty()) {
        ++counters_.sacks_sent;
        return make_sack(sacks_.pop());
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

sack_packet responder::make_sack(const sack_trigger &trigger)
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

    // D6: the window slides with the trigger, but every second SACK begins at the edge.
    packet_number base = cack + 1;
    full_view_ = !full_view_;
    if (!trigger.probe && !full_view_ && trigger.number - cack > MRC_SACK_BITMAP_BITS)
        base = trigger.number - (MRC_SACK_BITMAP_BITS - 1);
    sack.sack_offset = static_cast<std::int16_t>(base - cack);
    sack.bitmap = received_.extract(base);
    sack.tx_timestamp = trigger.tx_timestamp;
    sack.ooo_count = static_cast<std::uint16_t>(received_.above_edge());
    sack.rcvd_units = static_cast<std::uint32_t>((received_bytes_ + 255) >> MRC_CC_RCVD_UNIT_SHIFT) & MRC_CC_RCVD_MASK;
    return sack;
}

} // namespace mrc::protocol
