// SPDX-License-Identifier: Apache-2.0
#include "forged_packet.h"

namespace mrc::fuzz
{

using namespace protocol;

namespace
{

// Near `around`, or anywhere.
psn some_psn(fuzz_input &input, psn around)
{
    const std::uint8_t how = input.byte();
    if (how == 0xFF)
        return psn{input.number()};
    return around + (static_cast<std::int8_t>(how));
}

ev some_ev(fuzz_input &input, const qp_knowledge &known)
{
    return input.below(8) == 0 ? ev{input.number()} : known.entropy;
}

std::uint16_t some_stamp(fuzz_input &input, const qp_knowledge &known)
{
    return static_cast<std::uint16_t>(known.timestamp + static_cast<std::int8_t>(input.byte()) * 8);
}

data_packet forge_data(fuzz_input &input, const qp_knowledge &known)
{
    data_packet data;
    data.opcode = static_cast<std::uint8_t>(MRC_OP_WRITE_FIRST + input.below(8));
    data.destination = known.to;
    data.sequence = some_psn(input, known.expected);
    const std::uint8_t flags = input.byte();
    data.ack_request = (flags & 1) != 0;
    data.retransmission = (flags & 2) != 0;
    data.solicited = (flags & 4) != 0;
    if ((flags & 8) != 0)
        data.tx_timestamp = some_stamp(input, known);
    if ((flags & 16) != 0)
        data.immediate = input.number();
    data.rqmsn = static_cast<std::uint16_t>(input.below(8));
    data.msn = static_cast<std::uint16_t>(input.below(8));
    data.va = (flags & 32) != 0 ? input.large() : known.memory + input.word();
    data.rkey = (flags & 64) != 0 ? input.number() : known.rkey;
    data.payload_bytes = input.word();
    data.message_bytes = (flags & 128) != 0 ? input.number() : data.payload_bytes;
    return data;
}

sack_packet forge_sack(fuzz_input &input, const qp_knowledge &known)
{
    sack_packet sack;
    sack.destination = known.to;
    const std::uint8_t flags = input.byte();
    sack.retransmission = (flags & 1) != 0;
    sack.probe_response = (flags & 2) != 0;
    sack.restore_cwnd = (flags & 4) != 0;
    sack.m = static_cast<std::uint8_t>(flags >> 3 & 3u);
    sack.probe_id = static_cast<std::uint16_t>(input.below(16));
    sack.cack = some_psn(input, known.sent);
    sack.ack_psn_offset = (flags & 32) != 0 ? static_cast<std::int16_t>(input.word())
                                            : static_cast<std::int16_t>(static_cast<std::int8_t>(input.byte()));
    sack.sack_offset = (flags & 64) != 0 ? static_cast<std::int16_t>(input.word()) : std::int16_t{1};
    sack.bitmap = (flags & 128) != 0 ? input.large() : input.byte();
    sack.entropy = some_ev(input, known);
    sack.mpr = input.byte();
    sack.tx_timestamp = some_stamp(input, known);
    sack.ooo_count = input.word();
    sack.rcv_cwnd_penalty = static_cast<std::uint8_t>(input.byte() & 127u);
    sack.rcvd_units = input.number() & MRC_CC_RCVD_MASK;
    return sack;
}

nack_packet forge_nack(fuzz_input &input, const qp_knowledge &known)
{
    nack_packet nack;
    nack.destination = known.to;
    nack.reason = input.byte();
    nack.sequence = some_psn(input, known.sent);
    nack.entropy = some_ev(input, known);
    nack.tx_timestamp = some_stamp(input, known);
    return nack;
}

} // namespace

packet forge(fuzz_input &input, const qp_knowledge &known)
{
    switch (input.below(7)) {
    case 0:
        return forge_data(input, known);
    case 1:
        return forge_sack(input, known);
    case 2:
        return forge_nack(input, known);
    case 3: {
        transport_ack_packet ack;
        ack.destination = known.to;
        ack.sequence = some_psn(input, known.sent);
        ack.syndrome = input.byte();
        ack.msn = input.word();
        return ack;
    }
    case 4: {
        probe_packet probe;
        probe.destination = known.to;
        probe.probe_id = input.word();
        probe.tx_timestamp = some_stamp(input, known);
        return probe;
    }
    case 5:
        return endpoint_request_packet{input.word(), static_cast<std::uint8_t>(input.below(4)), input.number(),
                                       some_stamp(input, known)};
    default:
        return endpoint_response_packet{input.word(), static_cast<std::uint8_t>(input.below(4)),
                                        some_stamp(input, known)};
    }
}

void corrupt(packet &content, fuzz_input &input)
{
    const std::uint8_t field = input.byte();
    const std::uint32_t flip = 1u << (field >> 3);
    if (auto *data = std::get_if<data_packet>(&content)) {
        switch (field & 7u) {
        case 0:
            data->sequence = psn{data->sequence.value() ^ flip};
            break;
        case 1:
            data->opcode = static_cast<std::uint8_t>(data->opcode ^ (flip & 0xFFu));
            break;
        case 2:
            data->rqmsn = static_cast<std::uint16_t>(data->rqmsn ^ flip);
            break;
        case 3:
            data->va ^= flip;
            break;
        case 4:
            data->message_bytes ^= flip;
            break;
        case 5:
            data->payload_bytes ^= flip;
            break;
        case 6:
            data->tx_timestamp.reset();
            break;
        default:
            data->rkey ^= flip;
        }
    } else if (auto *sack = std::get_if<sack_packet>(&content)) {
        switch (field & 3u) {
        case 0:
            sack->cack = psn{sack->cack.value() ^ flip};
            break;
        case 1:
            sack->bitmap ^= flip;
            break;
        case 2:
            sack->sack_offset = static_cast<std::int16_t>(sack->sack_offset ^ static_cast<std::int16_t>(flip));
            break;
        default:
            sack->entropy.value ^= flip;
        }
    } else if (auto *nack = std::get_if<nack_packet>(&content)) {
        nack->reason = static_cast<std::uint8_t>(nack->reason ^ flip);
    } else if (auto *ack = std::get_if<transport_ack_packet>(&content)) {
        ack->sequence = psn{ack->sequence.value() ^ flip};
    }
}

} // namespace mrc::fuzz
