// SPDX-License-Identifier: Apache-2.0
// Random packets of every type, each field within its width on the wire.
#pragma once

#include <array>
#include <limits>
#include <random>

#include "codec/frame_codec.h"
#include "protocol/packet.h"

namespace mrc::test
{

class packet_samples
{
public:
    explicit packet_samples(std::uint64_t seed) : random_{seed} {}

    template <typename T = std::uint32_t>
    T value(std::uint64_t mask = std::numeric_limits<std::uint64_t>::max())
    {
        // Extremes as often as anything else: 0, all ones, or random bits.
        const std::uint64_t kind = random_() % 4;
        const std::uint64_t bits = kind == 0 ? 0 : kind == 1 ? ~std::uint64_t{0} : random_();
        return static_cast<T>(bits & mask);
    }
    bool coin() { return random_() % 2 != 0; }

    protocol::packet any()
    {
        switch (random_() % 7) {
        case 0:
            return sack();
        case 1:
            return protocol::nack_packet{.destination = qpn(),
                                         .reason = value<std::uint8_t>(),
                                         .vendor = value<std::uint8_t>(),
                                         .entropy = protocol::ev{value()},
                                         .spdcid = value<std::uint16_t>(),
                                         .dpdcid = value<std::uint16_t>(),
                                         .sequence = psn(),
                                         .tx_timestamp = value<std::uint16_t>()};
        case 2:
            return protocol::probe_packet{.destination = qpn(),
                                          .probe_id = value<std::uint16_t>(),
                                          .spdcid = value<std::uint16_t>(),
                                          .dpdcid = value<std::uint16_t>(),
                                          .tx_timestamp = value<std::uint16_t>()};
        case 3:
            return protocol::transport_ack_packet{
                .destination = qpn(), .sequence = psn(), .syndrome = value<std::uint8_t>(), .msn = value(0xFFFFFF)};
        case 4:
            return protocol::endpoint_request_packet{.request_id = value<std::uint16_t>(),
                                                     .operation = value<std::uint8_t>(3),
                                                     .port_status_mask = value(),
                                                     .tx_timestamp = value<std::uint16_t>()};
        case 5:
            return protocol::endpoint_response_packet{.request_id = value<std::uint16_t>(),
                                                      .operation = value<std::uint8_t>(3),
                                                      .tx_timestamp = value<std::uint16_t>()};
        default:
            return data();
        }
    }

    protocol::data_packet data()
    {
        static constexpr std::array opcodes{MRC_OP_WRITE_FIRST,    MRC_OP_WRITE_MIDDLE, MRC_OP_WRITE_LAST,
                                            MRC_OP_WRITE_LAST_IMM, MRC_OP_WRITE_ONLY,   MRC_OP_WRITE_ONLY_IMM};
        protocol::data_packet p{.opcode = static_cast<std::uint8_t>(opcodes[random_() % opcodes.size()]),
                                .destination = qpn(),
                                .sequence = psn(),
                                .ack_request = coin(),
                                .retransmission = coin(),
                                .rqmsn = value<std::uint16_t>(),
                                .msn = value<std::uint16_t>(),
                                .tx_timestamp = std::nullopt,
                                .va = value<std::uint64_t>(),
                                .rkey = value(),
                                .immediate = std::nullopt,
                                .payload_bytes = static_cast<std::uint32_t>(random_() % 200)};
        const bool only = p.opcode == MRC_OP_WRITE_ONLY || p.opcode == MRC_OP_WRITE_ONLY_IMM;
        p.message_bytes = only ? p.payload_bytes : p.payload_bytes + value(0x7FFFFFFF);
        if (coin())
            p.tx_timestamp = value<std::uint16_t>();
        p.solicited = (p.opcode == MRC_OP_WRITE_LAST_IMM || p.opcode == MRC_OP_WRITE_ONLY_IMM) && coin();
        if (p.opcode == MRC_OP_WRITE_LAST_IMM || p.opcode == MRC_OP_WRITE_ONLY_IMM)
            p.immediate = value();
        return p;
    }

    codec::encode_options options(bool ipv4)
    {
        codec::encode_options result{.udp_port = coin() ? std::uint16_t{4791} : std::uint16_t{4971},
                                     .dscp = value<std::uint8_t>(0x3F),
                                     .ecn = value<std::uint8_t>(3),
                                     .hop_limit = value<std::uint8_t>(),
                                     .entropy = protocol::ev{value(ipv4 ? 0xFFFF : 0xFFFFFFFF)}};
        for (mrc_ip *ip : {&result.ip.source, &result.ip.destination}) {
            for (auto &byte : ip->bytes)
                byte = static_cast<std::uint8_t>(random_());
            ip->bytes[0] = 0xFD;
            if (ipv4) {
                std::fill(ip->bytes, ip->bytes + 10, std::uint8_t{0});
                ip->bytes[10] = ip->bytes[11] = 0xFF;
            }
        }
        return result;
    }

private:
    protocol::sack_packet sack()
    {
        const bool probe = coin();
        return {.destination = qpn(),
                .retransmission = coin(),
                .m = value<std::uint8_t>(3),
                .probe_response = probe,
                .probe_id = probe ? value<std::uint16_t>() : std::uint16_t{0},
                .ack_psn_offset = probe ? std::int16_t{0} : value<std::int16_t>(),
                .entropy = protocol::ev{value()},
                .spdcid = value<std::uint16_t>(),
                .dpdcid = value<std::uint16_t>(),
                .cack = psn(),
                .mpr = value<std::uint8_t>(),
                .sack_offset = value<std::int16_t>(),
                .bitmap = value<std::uint64_t>(),
                .tx_timestamp = value<std::uint16_t>(),
                .ooo_count = value<std::uint16_t>(0x7FFF),
                .restore_cwnd = coin(),
                .rcv_cwnd_penalty = value<std::uint8_t>(0x7F),
                .rcvd_units = value(0xFFFFFF)};
    }
    protocol::qpn qpn() { return protocol::qpn{value(0xFFFFFF)}; }
    protocol::psn psn() { return protocol::psn{value(0xFFFFFF)}; }

    std::mt19937_64 random_;
};

} // namespace mrc::test
