// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

#include "protocol/largest_window.h"
#include "protocol/receive/responder.h"
#include "unit/protocol/start.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

constexpr std::uint32_t payload_bytes = 1024;

class test_memory final : public memory_sink
{
public:
    std::expected<void, write_refusal> write(std::uint32_t rkey, std::uint64_t va,
                                             std::span<const std::byte> payload) override
    {
        if (refuses)
            return std::unexpected{*refuses};
        if (rkey != 7)
            return std::unexpected{write_refusal::unknown_key};
        writes.push_back(va);
        bytes += payload.size();
        return {};
    }
    std::expected<placement, write_refusal> place(packet_number number, std::uint32_t rkey, std::uint64_t va,
                                                  std::span<const std::byte> payload) override
    {
        if (!holds)
            return memory_sink::place(number, rkey, va, payload);
        held.push_back(number);
        return placement::held;
    }
    bool holds = false;
    std::vector<packet_number> held;
    std::optional<write_refusal> refuses;
    std::vector<std::uint64_t> writes;
    std::size_t bytes = 0;
};

class responder_test : public testing::Test
{
protected:
    static qp_config make_config()
    {
        qp_config config;
        config.local = qpn{0x20};
        config.peer = qpn{0x10};
        config.first_receive = psn{0xFFFFFE}; // wraps at once
        config.receive_window_psns = 1024;
        return config;
    }

    // Packet `number` of a long message that ends at `end`.
    static data_packet packet(packet_number number, packet_number end = 1'000'000)
    {
        data_packet data;
        data.opcode = number == end - 1 ? MRC_OP_WRITE_LAST : number == 0 ? MRC_OP_WRITE_FIRST : MRC_OP_WRITE_MIDDLE;
        data.destination = qpn{0x20};
        data.sequence = psn{0xFFFFFE} + static_cast<std::int32_t>(number);
        data.va = static_cast<std::uint64_t>(number) * payload_bytes;
        data.rkey = 7;
        data.message_bytes = 1u << 30;
        data.payload_bytes = payload_bytes;
        data.tx_timestamp = static_cast<std::uint16_t>(number + 100);
        return data;
    }
    static arrival how()
    {
        arrival result;
        result.entropy = ev{0x1234};
        result.at = start;
        result.wire_bytes = 1112;
        return result;
    }
    void receive(const data_packet &data, const arrival &arrived = how(), instant now = start)
    {
        const std::size_t bytes = arrived.trimmed ? 0 : data.payload_bytes;
        responder_.on_data(data, std::span{payload_}.first(bytes), arrived, now);
    }
    template <typename wanted>
    std::vector<wanted> answers()
    {
        std::vector<wanted> found;
        while (auto answer = responder_.next_answer(start))
            if (const auto *match = std::get_if<wanted>(&*answer))
                found.push_back(*match);
        return found;
    }

    std::vector<std::byte> payload_{4096};
    test_memory memory_;
    qp_counters counters_;
    responder responder_{make_config(), memory_, counters_};
};

TEST_F(responder_test, places_packets_in_any_order_at_once)
{
    for (const packet_number number : {3, 0, 2, 1})
        receive(packet(number));
    EXPECT_EQ(memory_.writes, (std::vector<std::uint64_t>{3072, 0, 2048, 1024}));
    EXPECT_EQ(counters_.rx_packets, 4u);
}

TEST_F(responder_test, sacks_after_sixteen_kilobytes)
{
    for (packet_number number = 0; number < 16; ++number)
        receive(packet(number));
    EXPECT_TRUE(answers<sack_packet>().empty()) << "16 KiB are not more than 16 KiB";
    receive(packet(16));
    const auto sacks = answers<sack_packet>();
    ASSERT_EQ(sacks.size(), 1u);
    EXPECT_EQ(sacks[0].cack, psn{14}) << "0xFFFFFE + 16";
    EXPECT_EQ(sacks[0].destination, qpn{0x10});
    EXPECT_EQ(sacks[0].entropy, ev{0x1234});
    EXPECT_EQ(sacks[0].tx_timestamp, 116);
    EXPECT_EQ(sacks[0].ack_psn_offset, 0);
    EXPECT_EQ(sacks[0].rcvd_units, (17u * 1112 + 255) / 256);
    EXPECT_EQ(sacks[0].mpr, 0) << "Dynamic MPR is off";
}

TEST_F(responder_test, small_packets_count_as_one_kilobyte)
{
    for (packet_number number = 0; number < 17; ++number) {
        data_packet data = packet(number);
        data.payload_bytes = 1;
        receive(data);
    }
    EXPECT_EQ(answers<sack_packet>().size(), 1u);
}

// Table of triggers in responder.h.
TEST_F(responder_test, sacks_at_once_on_request_congestion_retransmission_and_duplicates)
{
    data_packet asks = packet(0);
    asks.ack_request = true;
    receive(asks);
    EXPECT_EQ(answers<sack_packet>().size(), 1u);

    arrival marked = how();
    marked.congestion_experienced = true;
    receive(packet(1), marked);
    auto sacks = answers<sack_packet>();
    ASSERT_EQ(sacks.size(), 1u);
    EXPECT_EQ(sacks[0].m, MRC_SACK_M_SKIP_ONCE);

    data_packet again = packet(2);
    again.retransmission = true;
    receive(again);
    sacks = answers<sack_packet>();
    ASSERT_EQ(sacks.size(), 1u);
    EXPECT_TRUE(sacks[0].retransmission);
    EXPECT_EQ(sacks[0].m, MRC_SACK_M_NONE);

    receive(packet(1));
    EXPECT_EQ(answers<sack_packet>().size(), 1u) << "below the edge";
    receive(packet(5));
    receive(packet(5));
    EXPECT_EQ(answers<sack_packet>().size(), 1u) << "above it";
    EXPECT_EQ(counters_.rx_duplicates, 2u);
    EXPECT_EQ(memory_.writes.size(), 4u) << "duplicates are not written";
}

TEST_F(responder_test, bitmaps_cover_the_newest_the_edge_and_what_lies_between)
{
    for (packet_number number = 1; number <= 300; ++number)
        receive(packet(number));
    bool full = false;
    std::size_t newest = 0;
    std::vector<int> between;
    for (const sack_packet &sack : answers<sack_packet>()) {
        EXPECT_EQ(sack.cack, psn{0xFFFFFD}) << "packet 0 is missing";
        EXPECT_EQ(sack.ooo_count, 300);
        if (sack.sack_offset == 1) {
            full = true;
            EXPECT_EQ(sack.bitmap, ~std::uint64_t{1});
            continue;
        }
        EXPECT_EQ(sack.bitmap, ~std::uint64_t{0});
        if (sack.sack_offset == sack.ack_psn_offset - 63)
            ++newest;
        else
            between.push_back(sack.sack_offset);
    }
    EXPECT_TRUE(full);
    EXPECT_GE(newest, 6u);
    EXPECT_EQ(between, (std::vector<int>{65, 129})) << "steps of one bitmap from the edge on";
}

TEST_F(responder_test, sack_names_the_last_packet_of_the_largest_window)
{
    qp_config config = make_config();
    config.receive_window_psns = largest_window_psns;
    responder largest{config, memory_, counters_};
    constexpr packet_number last = largest_window_psns - 1;
    std::optional<sack_packet> newest;
    for (packet_number number = 1; number <= last; ++number) { // 0 is missing
        data_packet data = packet(number);
        data.ack_request = number == last;
        largest.on_data(data, std::span{payload_}.first(payload_bytes), how(), start);
        while (const auto answer = largest.next_answer(start))
            if (const auto *sack = std::get_if<sack_packet>(&*answer))
                newest = *sack;
    }
    EXPECT_EQ(counters_.rx_packets, static_cast<std::uint64_t>(last));
    ASSERT_TRUE(newest);
    EXPECT_EQ(newest->cack, psn{0xFFFFFD});
    EXPECT_EQ(newest->ack_psn_offset, last + 1);
    EXPECT_EQ(newest->ooo_count, last);
    EXPECT_LE(newest->sack_offset, last + 1);
}

TEST_F(responder_test, window_is_enforced_with_rare_nacks)
{
    receive(packet(1023));
    EXPECT_EQ(counters_.rx_packets, 1u);
    receive(packet(1024));
    receive(packet(1024));
    EXPECT_EQ(counters_.rx_out_of_window, 2u);
    const auto nacks = answers<nack_packet>();
    ASSERT_EQ(nacks.size(), 1u) << "once per PSN and round trip";
    EXPECT_EQ(nacks[0].reason, MRC_NACK_PSN_OOR_WINDOW);
    EXPECT_EQ(nacks[0].sequence, packet(1024).sequence);
    for (int round = 0; round < 5; ++round)
        for (packet_number number = 1025; number < 1065; ++number)
            receive(packet(number));
    EXPECT_EQ(answers<nack_packet>().size(), 15u) << "sixteen in all";
    receive(packet(-5));
    EXPECT_TRUE(answers<nack_packet>().empty()) << "before the first packet: silence";
    receive(packet(1024), how(), start + 1ms);
    EXPECT_EQ(answers<nack_packet>().size(), 1u);
}

TEST_F(responder_test, trimmed_packets_change_nothing_but_are_nacked)
{
    arrival trimmed = how();
    trimmed.trimmed = true;
    receive(packet(3), trimmed);
    trimmed.trimmed_last_hop = true;
    receive(packet(4), trimmed);
    const auto nacks = answers<nack_packet>();
    ASSERT_EQ(nacks.size(), 2u);
    EXPECT_EQ(nacks[0].reason, MRC_NACK_TRIMMED);
    EXPECT_EQ(nacks[0].sequence, packet(3).sequence);
    EXPECT_EQ(nacks[0].tx_timestamp, 103);
    EXPECT_EQ(nacks[1].reason, MRC_NACK_TRIMMED_LASTHOP);
    EXPECT_EQ(counters_.rx_packets, 0u);
    EXPECT_TRUE(memory_.writes.empty());
    receive(packet(3));
    trimmed.trimmed_last_hop = false;
    receive(packet(3), trimmed);
    EXPECT_TRUE(answers<nack_packet>().empty()) << "it has arrived whole";
}

TEST_F(responder_test, acknowledges_messages_when_the_edge_passes_their_end)
{
    receive(packet(1, 2)); // Last
    receive(packet(2, 3)); // Last of the next message
    EXPECT_TRUE(answers<transport_ack_packet>().empty());
    receive(packet(0, 2));
    auto acks = answers<transport_ack_packet>();
    ASSERT_EQ(acks.size(), 1u) << "cumulative";
    EXPECT_EQ(acks[0].sequence, packet(2).sequence);
    EXPECT_EQ(acks[0].msn, 2u);
    EXPECT_EQ(acks[0].syndrome, MRC_AETH_ACK);
    receive(packet(1, 2));
    acks = answers<transport_ack_packet>();
    ASSERT_EQ(acks.size(), 1u) << "a duplicate below the edge asks again";
    EXPECT_EQ(acks[0].msn, 2u);
}

TEST_F(responder_test, probe_is_answered_and_repeats_the_transport_ack)
{
    probe_packet probe;
    probe.probe_id = 0x55;
    probe.tx_timestamp = 9;
    responder_.on_probe(probe, how());
    EXPECT_TRUE(answers<transport_ack_packet>().empty()) << "nothing has completed";
    receive(packet(0, 1));
    (void)answers<sack_packet>();
    responder_.on_probe(probe, how());
    std::vector<protocol::packet> all;
    while (auto answer = responder_.next_answer(start))
        all.push_back(*answer);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(std::get<transport_ack_packet>(all[1]).msn, 1u) << "last: what SACKs say of its packets is news then";
    const auto &sack = std::get<sack_packet>(all[0]);
    EXPECT_TRUE(sack.probe_response);
    EXPECT_EQ(sack.probe_id, 0x55);
    EXPECT_EQ(sack.tx_timestamp, 9);
    EXPECT_EQ(sack.sack_offset, 1);
}

TEST_F(responder_test, refusal_gets_its_nak_when_all_before_it_have_arrived)
{
    memory_.refuses = write_refusal::out_of_bounds;
    receive(packet(2));
    memory_.refuses.reset();
    EXPECT_TRUE(answers<transport_ack_packet>().empty());
    receive(packet(0, 1));
    EXPECT_EQ(answers<transport_ack_packet>().at(0).syndrome, MRC_AETH_ACK);
    receive(packet(3));
    EXPECT_EQ(memory_.writes.size(), 1u) << "nothing behind a refusal is written";
    receive(packet(1));
    const auto acks = answers<transport_ack_packet>();
    ASSERT_EQ(acks.size(), 1u);
    EXPECT_EQ(acks[0].syndrome, MRC_AETH_NAK_REMOTE_ACCESS);
    EXPECT_EQ(acks[0].sequence, packet(2).sequence);
    EXPECT_EQ(acks[0].msn, 1u);
    receive(packet(2));
    EXPECT_EQ(answers<transport_ack_packet>().back().syndrome, MRC_AETH_NAK_REMOTE_ACCESS) << "the NAK may be lost";
}

TEST_F(responder_test, faults_have_their_own_syndrome)
{
    memory_.refuses = write_refusal::fault;
    receive(packet(0));
    EXPECT_EQ(answers<transport_ack_packet>().at(0).syndrome, MRC_AETH_NAK_REMOTE_OPERATION);
    EXPECT_EQ(responder_.failure(), completion_status::flushed) << "this end fails too";
}

TEST_F(responder_test, after_a_failure_nothing_is_written_even_below_a_refusal)
{
    memory_.refuses = write_refusal::unknown_key;
    receive(packet(5));
    memory_.refuses.reset();
    responder_.fail();
    receive(packet(1));
    EXPECT_TRUE(memory_.writes.empty());
    EXPECT_EQ(counters_.rx_unexpected, 1u);
}

TEST_F(responder_test, busy_memory_is_a_nack_as_if_nothing_had_arrived)
{
    memory_.refuses = write_refusal::busy;
    receive(packet(0));
    const auto nacks = answers<nack_packet>();
    ASSERT_EQ(nacks.size(), 1u);
    EXPECT_EQ(nacks[0].reason, MRC_NACK_NO_PKT_BUFFER);
    EXPECT_EQ(counters_.rx_packets, 0u);
    EXPECT_EQ(counters_.rx_busy, 1u);
    memory_.refuses.reset();
    receive(packet(0));
    EXPECT_EQ(counters_.rx_packets, 1u);
    EXPECT_FALSE(responder_.failure());
}

TEST_F(responder_test, after_a_failure_new_packets_are_unexpected_and_old_ones_are_answered)
{
    receive(packet(0, 1));
    (void)answers<sack_packet>();
    responder_.fail();
    receive(packet(1));
    const auto nacks = answers<nack_packet>();
    ASSERT_EQ(nacks.size(), 1u);
    EXPECT_EQ(nacks[0].reason, MRC_NACK_UNEXP_EVENT);
    EXPECT_EQ(memory_.writes.size(), 1u);
    receive(packet(0, 1));
    EXPECT_EQ(answers<transport_ack_packet>().size(), 1u) << "its Transport ACK may have been lost";
}

TEST_F(responder_test, sacks_carry_window_penalty_and_service_time)
{
    qp_config config = make_config();
    config.dynamic_mpr = true;
    config.service_time = true;
    responder other{config, memory_, counters_};
    const auto next_sack = [&](packet_number number) {
        data_packet data = packet(number);
        data.ack_request = true;
        other.on_data(data, std::span{payload_}.first(payload_bytes), how(), start);
        return std::get<sack_packet>(other.next_answer(start + 1280ns).value());
    };
    sack_packet sack = next_sack(0);
    EXPECT_EQ(sack.mpr, 8);
    EXPECT_EQ(sack.tx_timestamp, 100 + 10) << "ten ticks of 128 ns went by here";
    EXPECT_EQ(sack.rcv_cwnd_penalty, 0);
    other.set_penalty(64);
    sack = next_sack(1);
    EXPECT_EQ(sack.rcv_cwnd_penalty, 64);
    other.set_penalty(0);
    EXPECT_FALSE(next_sack(2).restore_cwnd) << "the window that was too large grows again by itself";
}

TEST_F(responder_test, offers_what_the_load_leaves_and_takes_the_cuts_back_when_it_is_over)
{
    qp_config config = make_config();
    config.dynamic_mpr = true;
    responder other{config, memory_, counters_};
    packet_number number = 0;
    const auto next_sack = [&] {
        data_packet data = packet(number++);
        data.ack_request = true;
        other.on_data(data, std::span{payload_}.first(payload_bytes), how(), start);
        return std::get<sack_packet>(other.next_answer(start).value());
    };
    other.set_share(whole_window);
    EXPECT_FALSE(next_sack().restore_cwnd) << "nothing was cut";
    other.set_penalty(2);
    other.set_share(whole_window / 2);
    sack_packet sack = next_sack();
    EXPECT_EQ(sack.mpr, 4);
    EXPECT_FALSE(sack.restore_cwnd);
    other.set_penalty(0);
    other.set_share(whole_window - 1);
    sack = next_sack();
    EXPECT_EQ(sack.mpr, 7);
    EXPECT_FALSE(sack.restore_cwnd) << "not yet";
    other.set_penalty(0);
    other.set_share(whole_window);
    sack = next_sack();
    EXPECT_EQ(sack.mpr, 8);
    EXPECT_TRUE(sack.restore_cwnd);
    other.set_share(whole_window); // one look later
    EXPECT_FALSE(next_sack().restore_cwnd) << "what is cut from now on has other reasons";
    number = 900; // as was offered once
    EXPECT_EQ(next_sack().ooo_count, 1U) << "and taken, whatever is offered now";
}

TEST_F(responder_test, restores_no_window_of_a_peer_that_dynamic_mpr_does_not_bind)
{
    responder other{make_config(), memory_, counters_};
    other.set_penalty(2);
    other.set_share(whole_window / 2);
    other.set_penalty(0);
    other.set_share(whole_window);
    data_packet data = packet(0);
    data.ack_request = true;
    other.on_data(data, std::span{payload_}.first(payload_bytes), how(), start);
    const auto sack = std::get<sack_packet>(other.next_answer(start).value());
    EXPECT_EQ(sack.mpr, 0);
    EXPECT_FALSE(sack.restore_cwnd);
}

// The host's own queue: no path is told, and no answer is asked for that was not due.
TEST_F(responder_test, wait_in_this_host_raises_the_penalty_and_blames_no_path)
{
    qp_config config = make_config();
    config.backlog_mark = 50us;
    responder other{config, memory_, counters_};
    const auto take = [&](packet_number number, duration waited, bool ack_request) {
        data_packet data = packet(number);
        data.ack_request = ack_request;
        other.on_data(data, std::span{payload_}.first(payload_bytes), how(), how().at + waited);
    };
    take(0, 200us, false);
    EXPECT_FALSE(other.has_answer()) << "one packet of sixteen";
    take(1, 200us, true);
    const auto sack = std::get<sack_packet>(other.next_answer(how().at + 200us).value());
    EXPECT_EQ(sack.rcv_cwnd_penalty, 16);
    EXPECT_EQ(sack.m, MRC_SACK_M_NONE);
    take(2, 10us, true);
    EXPECT_EQ(std::get<sack_packet>(other.next_answer(how().at + 10us).value()).rcv_cwnd_penalty, 0);
    EXPECT_EQ(counters_.rx_congested, 0u);
}

TEST_F(responder_test, contradictory_headers_are_dropped)
{
    data_packet longer = packet(0);
    longer.message_bytes = payload_bytes - 1;
    receive(longer);
    data_packet huge = packet(0);
    huge.message_bytes = 0x80000001u;
    receive(huge);
    data_packet foreign = packet(0);
    foreign.opcode = MRC_OP_SACK;
    receive(foreign);
    responder_.on_data(packet(0), std::span{payload_}.first(3), how(), start);
    EXPECT_EQ(counters_.rx_malformed, 4u);
    EXPECT_EQ(counters_.rx_packets, 0u);
}

TEST_F(responder_test, measures_the_longest_gap_between_arrivals)
{
    arrival arrived = how();
    for (const auto at : {0us, 10us, 5us, 400us, 401us}) {
        arrived.at = start + at;
        receive(packet(static_cast<packet_number>(counters_.rx_packets)), arrived);
    }
    EXPECT_EQ(responder_.progress().longest_gap, 390us);
    responder_.reset_progress();
    EXPECT_EQ(responder_.progress().longest_gap, 0us);
}

TEST_F(responder_test, answers_beyond_its_queue_are_counted)
{
    for (packet_number number = 0; number < 100; ++number) {
        data_packet data = packet(number);
        data.ack_request = true;
        arrival arrived = how();
        arrived.entropy = ev{static_cast<std::uint32_t>(number + 1)};
        receive(data, arrived);
    }
    const auto sacks = answers<sack_packet>();
    ASSERT_EQ(sacks.size(), 64u);
    EXPECT_EQ(sacks.back().entropy, ev{100}) << "the newest tell most";
    EXPECT_EQ(counters_.control_dropped, 36u);
}

// Every packet asks: one answer for each path, and one for each 16 KiB.
TEST_F(responder_test, packets_that_all_ask_are_answered_by_path)
{
    for (packet_number number = 0; number < 100; ++number) {
        data_packet data = packet(number);
        data.ack_request = true;
        arrival arrived = how();
        arrived.entropy = ev{static_cast<std::uint32_t>(number % 4 + 1)};
        receive(data, arrived);
    }
    const auto sacks = answers<sack_packet>();
    ASSERT_EQ(sacks.size(), 4u + 96u / 17u);
    for (unsigned path = 0; path < 4; ++path)
        EXPECT_GE(sacks[path].ack_psn_offset, -20) << "the newest of each";
    EXPECT_EQ(counters_.control_dropped, 0u);
}

TEST_F(responder_test, nobody_is_told_of_a_message_before_memory_has_written_what_it_held)
{
    memory_.holds = true;
    data_packet immediate = packet(1, 2);
    immediate.opcode = MRC_OP_WRITE_ONLY_IMM;
    immediate.immediate = 0x77;
    ASSERT_TRUE(responder_.post_receive(5));
    receive(packet(0, 1));
    receive(immediate);
    memory_.holds = false;
    receive(packet(2, 3)); // written at once, behind what is not
    EXPECT_EQ(memory_.writes.size(), 1u);
    EXPECT_TRUE(answers<transport_ack_packet>().empty());
    EXPECT_FALSE(responder_.has_receive_completion());

    responder_.settle();

    const auto acks = answers<transport_ack_packet>();
    ASSERT_EQ(acks.size(), 1u);
    EXPECT_EQ(acks[0].msn, 3u);
    EXPECT_EQ(responder_.next_receive_completion()->immediate, 0x77u);
    receive(packet(3, 4));
    EXPECT_EQ(answers<transport_ack_packet>().at(0).msn, 4u) << "at once again";
}

TEST_F(responder_test, what_memory_held_and_could_not_write_is_refused_and_nothing_before_it)
{
    memory_.holds = true;
    for (const packet_number number : {2, 0, 1, 3})
        receive(packet(number, number + 1));
    EXPECT_EQ(counters_.rx_bytes, 4 * payload_bytes);

    responder_.refuse_held(2, payload_bytes);
    responder_.settle();

    const auto acks = answers<transport_ack_packet>();
    ASSERT_EQ(acks.size(), 2u);
    EXPECT_EQ(acks[0].sequence, packet(1).sequence) << "both before it";
    EXPECT_EQ(acks[0].msn, 2u);
    EXPECT_EQ(acks[1].syndrome, MRC_AETH_NAK_REMOTE_ACCESS);
    EXPECT_EQ(acks[1].sequence, packet(2).sequence);
    EXPECT_EQ(responder_.failure(), completion_status::flushed);
    EXPECT_EQ(counters_.rx_bytes, 3 * payload_bytes);
    EXPECT_EQ(counters_.rx_refused, 1u);
}

TEST_F(responder_test, a_duplicate_of_what_memory_holds_is_not_placed_again)
{
    memory_.holds = true;
    receive(packet(0, 1));
    receive(packet(0, 1));
    EXPECT_EQ(memory_.held, (std::vector<packet_number>{0}));
    EXPECT_EQ(counters_.rx_duplicates, 1u);
    responder_.settle();
    responder_.settle(); // as often as you like
    EXPECT_EQ(answers<transport_ack_packet>().at(0).msn, 1u);
}

} // namespace
} // namespace mrc::protocol
