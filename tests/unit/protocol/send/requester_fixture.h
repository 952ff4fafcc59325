// SPDX-License-Identifier: Apache-2.0
// A requester on two planes of two paths; the test plays the peer.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "protocol/congestion/fixed_window.h"
#include "protocol/paths/mrc_selector.h"
#include "protocol/send/acks.h"
#include "protocol/send/next_packet.h"
#include "protocol/send/requester_state.h"
#include "protocol/send/timers.h"

namespace mrc::protocol
{

using namespace std::chrono_literals;

inline constexpr std::uint32_t payload_bytes = 1024;

class requester_test : public testing::Test
{
protected:
    requester_test() : requester_test{make_config()} {}
    explicit requester_test(const qp_config &config)
        : requester_{config, {paths_, peer_ports_, peer_}, proofs_, selector_, control_, counters_}
    {
    }

    static qp_config make_config()
    {
        qp_config config;
        config.local = qpn{0x10};
        config.peer = qpn{0x20};
        config.first_send = psn{0xFFFFFE};
        config.payload_bytes = payload_bytes;
        config.window_psns = 128;
        config.retry = {.timeout_exponent = 8, .linear = 7, .exponential = 14};
        return config;
    }
    static path_group_config make_group()
    {
        path_group_config config;
        config.planes = 2;
        config.uplinks = 2;
        config.base = path_index{1};
        return config;
    }

    void write(std::uint32_t packets)
    {
        ASSERT_TRUE(
            post(requester_,
                 {.id = next_id_++, .source = {5, 0x1000, packets * payload_bytes}, .remote_va = 0x9000, .rkey = 7}));
    }
    // Takes everything that may leave now.
    std::vector<outgoing> send()
    {
        std::vector<outgoing> sent;
        while (auto next = next_packet(requester_, now_))
            sent.push_back(*next);
        return sent;
    }
    // One packet at a time, a microsecond apart.
    std::vector<outgoing> trickle(std::uint32_t packets)
    {
        write(packets);
        std::vector<outgoing> sent;
        while (auto taken = next_packet(requester_, now_)) {
            sent.push_back(*taken);
            now_ += 1us;
        }
        return sent;
    }
    [[nodiscard]] static unsigned plane_of(const outgoing &from) { return mrc_ev_plane(from.entropy.value); }
    static const data_packet &data(const outgoing &from) { return std::get<data_packet>(from.content); }
    [[nodiscard]] static psn at(packet_number number) { return psn_space{psn{0xFFFFFE}}.at(number); }

    // A SACK from the edge, triggered by `trigger`.
    static sack_packet sack(packet_number cack, std::uint64_t bitmap, const outgoing &trigger)
    {
        sack_packet result;
        result.cack = at(cack);
        result.bitmap = bitmap;
        result.entropy = trigger.entropy;
        result.ack_psn_offset = static_cast<std::int16_t>(data(trigger).sequence - at(cack));
        result.tx_timestamp = *data(trigger).tx_timestamp;
        result.retransmission = data(trigger).retransmission;
        return result;
    }
    void receive(const sack_packet &said)
    {
        arrival how;
        how.at = now_;
        on_sack(requester_, said, how, now_);
    }
    static nack_packet nack_of(const outgoing &sent, std::uint8_t reason)
    {
        nack_packet nack;
        nack.sequence = data(sent).sequence;
        nack.reason = reason;
        nack.entropy = sent.entropy;
        nack.tx_timestamp = *data(sent).tx_timestamp;
        return nack;
    }
    void acknowledge(packet_number number, std::uint8_t syndrome = MRC_AETH_ACK)
    {
        transport_ack_packet ack;
        ack.sequence = at(number);
        ack.syndrome = syndrome;
        on_transport_ack(requester_, ack, {}, now_);
    }

    instant now_{1s};
    local_ports local_{plane_mask{0b11}};
    plane_mask peer_ports_{0b11};
    path_group paths_{make_group(), local_};
    peer_planes peer_{probe_config{}, paths_};
    sack_proofs proofs_{paths_.size()};
    mrc_selector selector_{paths_, 1};
    fixed_window control_{1 << 20};
    qp_counters counters_;
    std::uint64_t next_id_ = 1;
    requester_state requester_;
};

} // namespace mrc::protocol
