// SPDX-License-Identifier: Apache-2.0
#include "unit/protocol/send/requester_fixture.h"

namespace mrc::protocol
{
namespace
{

class acks_test : public requester_test
{
protected:
    // A packet on each path; all arrive marked and are answered a round trip later.
    void exchange_marked()
    {
        write(4);
        const auto sent = send();
        ASSERT_EQ(sent.size(), 4u);
        now_ += round_trip;
        for (const outgoing &packet : sent) {
            sack_packet said = sack(answered_++, 0, packet);
            said.m = MRC_SACK_M_SKIP_ONCE;
            receive(said);
        }
    }
    void send_one()
    {
        write(1);
        ASSERT_EQ(send().size(), 1u);
    }

    static constexpr duration round_trip = 80us;
    packet_number answered_ = 0;
};

// A draw by itself gives one of them its turn back.
TEST_F(acks_test, marked_paths_are_skipped_for_a_round_trip_at_most)
{
    exchange_marked();
    EXPECT_EQ(selector_.skipped_paths(), 4u);
    now_ += round_trip;
    send_one();
    EXPECT_EQ(selector_.skipped_paths(), 0u);
}

TEST_F(acks_test, marked_paths_are_skipped_from_when_the_sender_hears_of_it)
{
    exchange_marked();
    now_ += 100 * round_trip;
    exchange_marked();
    now_ += round_trip / 2 - 1us;
    send_one();
    EXPECT_EQ(selector_.skipped_paths(), 3u);
}

TEST_F(acks_test, completes_on_transport_ack_not_on_sack)
{
    write(2);
    write(2);
    const auto sent = send();
    now_ += 50us;
    receive(sack(3, 0, sent[3]));
    EXPECT_FALSE(requester_.queue.next_completion());
    EXPECT_EQ(requester_.flying.packets, 0u);
    acknowledge(1);
    EXPECT_EQ(requester_.queue.next_completion()->id, 1u);
    EXPECT_FALSE(requester_.queue.next_completion());
    acknowledge(3);
    EXPECT_EQ(requester_.queue.next_completion()->id, 2u);
}

TEST_F(acks_test, impossible_sacks_are_rejected)
{
    write(4);
    const auto sent = send();
    now_ += 50us;
    receive(sack(4, 0, sent[3])); // acknowledges what was never sent
    sack_packet bits = sack(-1, 1u << 4, sent[3]);
    receive(bits);
    sack_packet trigger = sack(-1, 0, sent[3]);
    trigger.ack_psn_offset = 5;
    receive(trigger);
    acknowledge(4);
    EXPECT_EQ(counters_.sacks_rejected, 3u);
    EXPECT_EQ(counters_.acks_rejected, 1u);
    EXPECT_EQ(requester_.flying.packets, 4u);
}

TEST_F(acks_test, unexpected_event_fails_only_for_packets_in_flight)
{
    write(2);
    const auto sent = send();
    nack_packet nack;
    nack.reason = MRC_NACK_UNEXP_EVENT;
    nack.sequence = at(7);
    on_nack(requester_, nack, {}, now_);
    EXPECT_FALSE(requester_.failure) << "forged";
    nack.sequence = at(1);
    on_nack(requester_, nack, {}, now_);
    EXPECT_EQ(requester_.failure, completion_status::remote_operation_error);
}

// Syndromes of IBTA 9.7.5.2.
TEST_F(acks_test, nak_completes_what_came_before_and_names_the_error)
{
    write(2);
    write(2);
    (void)send();
    acknowledge(2, MRC_AETH_NAK_REMOTE_ACCESS);
    EXPECT_EQ(requester_.queue.next_completion()->status, completion_status::success);
    ASSERT_EQ(requester_.failure, completion_status::remote_access_error);
    fail(requester_, *requester_.failure);
    EXPECT_EQ(requester_.queue.next_completion()->status, completion_status::remote_access_error);
    EXPECT_EQ(control_.inflight(), 0);
    EXPECT_EQ(next_deadline(requester_), never);
}

// One that guesses PSNs: the peer can only refuse what it has not acknowledged.
TEST_F(acks_test, nak_of_what_was_executed_is_forged)
{
    write(2);
    write(3);
    (void)send();
    acknowledge(1);
    for (const packet_number number : {-1, 0, 1})
        acknowledge(number, MRC_AETH_NAK_REMOTE_ACCESS);
    EXPECT_EQ(counters_.acks_rejected, 3u);
    EXPECT_FALSE(requester_.failure);
    acknowledge(4);
    acknowledge(4, MRC_AETH_NAK_REMOTE_ACCESS);
    EXPECT_EQ(counters_.acks_rejected, 4u) << "nothing waits for an answer";
    EXPECT_FALSE(requester_.failure);
}

TEST_F(acks_test, nak_may_lie_behind_what_is_sacked)
{
    write(4);
    const auto sent = send();
    now_ += 50us;
    receive(sack(3, 0, sent[3]));
    acknowledge(1, MRC_AETH_NAK_REMOTE_ACCESS);
    EXPECT_EQ(requester_.failure, completion_status::remote_access_error) << "SACKed is not written";
}

TEST_F(acks_test, transport_ack_that_comes_first_takes_no_sample_away)
{
    write(1);
    const auto sent = send();
    now_ += 50us;
    acknowledge(0);
    EXPECT_EQ(control_.inflight(), 0);
    EXPECT_FALSE(requester_.rtt.has_sample());
    receive(sack(0, 0, sent[0]));
    EXPECT_NEAR(static_cast<double>(requester_.rtt.smoothed().count()), 50'000, 128);
    now_ += 1ms;
    receive(sack(0, 0, sent[0]));
    EXPECT_NEAR(static_cast<double>(requester_.rtt.smoothed().count()), 50'000, 128) << "one sample a transmission";
}

TEST_F(acks_test, syndromes_that_are_neither_ack_nor_nak_complete_nothing)
{
    write(1);
    (void)send();
    for (const int syndrome : {0x20, 0x3F, 0x40, 0x5F})
        acknowledge(0, static_cast<std::uint8_t>(syndrome));
    EXPECT_FALSE(requester_.queue.next_completion());
    EXPECT_EQ(counters_.acks_unknown, 4u);
    EXPECT_EQ(requester_.flying.packets, 1u);
}

TEST_F(acks_test, always_skip_is_believed_of_the_path_that_a_packet_took)
{
    write(1);
    const auto sent = send();
    const std::uint16_t taken = *paths_.slot_of(sent[0].entropy);
    now_ += 30us;
    sack_packet liar = sack(0, 0, sent[0]);
    liar.m = MRC_SACK_M_ALWAYS_SKIP;
    for (unsigned slot = 0; slot < paths_.size(); ++slot) {
        liar.entropy = paths_.path(slot).entropy;
        if (slot != taken)
            receive(liar);
    }
    for (unsigned slot = 0; slot < paths_.size(); ++slot)
        EXPECT_EQ(paths_.state(slot), path_state::good);
    liar.entropy = sent[0].entropy;
    receive(liar);
    EXPECT_EQ(paths_.state(taken), path_state::assumed_bad);
}

// By its old EV the NACK names the path and the transmission; else it were stale, and the packet waited for its timer.
TEST_F(acks_test, nack_of_what_was_sent_before_an_exchange_of_evs_is_understood)
{
    const auto sent = trickle(4);
    std::vector<profile_entry> evs;
    for (unsigned slot = 0; slot < paths_.size(); ++slot) {
        const path_choice path = paths_.path(slot);
        evs.push_back({ev{path.entropy.value ^ 1u << MRC_EV_ENTROPY_SHIFT}, path.plane, path.slot});
    }
    paths_.exchange(evs, {});
    now_ += 10us;
    arrival how;
    how.at = now_;
    on_nack(requester_, nack_of(sent[1], MRC_NACK_TRIMMED), how, now_);
    EXPECT_EQ(counters_.nacks_stale, 0u);
    const auto again = send();
    ASSERT_EQ(again.size(), 1u);
    EXPECT_EQ(data(again[0]).sequence, data(sent[1]).sequence);
    EXPECT_NE(again[0].entropy, sent[1].entropy);
}

TEST_F(acks_test, nacks_of_each_reason_are_counted_apart)
{
    write(2);
    const auto sent = send();
    now_ += 30us;
    nack_packet nack;
    nack.sequence = at(0);
    nack.reason = 0x77;
    nack.entropy = sent[0].entropy;
    nack.tx_timestamp = *data(sent[0]).tx_timestamp;
    arrival how;
    how.at = now_;
    on_nack(requester_, nack, how, now_);
    EXPECT_EQ(counters_.nacks_unknown, 1u);
    EXPECT_FALSE(requester_.failure) << "recoverable";
    on_nack(requester_, nack, how, now_);
    EXPECT_EQ(counters_.nacks_stale, 1u);
    nack.sequence = at(9);
    on_nack(requester_, nack, how, now_);
    EXPECT_EQ(counters_.nacks_rejected, 1u);
}

// The oldest packet that is remembered gives way to the next one when that leaves, not when it is only considered.
TEST_F(acks_test, late_sack_of_the_oldest_packet_remembered_gives_its_own_round_trip)
{
    // Stamps begin anew: whoever took a blank record for the packet would find the host's uptime a round trip.
    now_ = instant{duration{std::int64_t{1} << 16 << MRC_TS_TICK_SHIFT} * 100};
    fixed_window narrow{nominal_bytes(payload_bytes)};
    requester_state other{make_config(), {paths_, peer_ports_, peer_}, proofs_, selector_, narrow, counters_};
    ASSERT_TRUE(post(other, {.id = 1, .source = {5, 0, 200 * payload_bytes}, .remote_va = 0, .rkey = 7}));
    std::vector<outgoing> sent;
    const auto hear = [&](const sack_packet &said) {
        arrival how;
        how.at = now_;
        on_sack(other, said, how, now_);
    };
    while (sent.size() < 128) {
        const auto packet = next_packet(other, now_);
        ASSERT_TRUE(packet);
        sent.push_back(*packet);
        if (sent.size() == 128)
            break;
        now_ += 1us;
        sack_packet blind = sack(static_cast<packet_number>(sent.size()) - 1, 0, sent.back());
        blind.entropy = ev{}; // gives no sample
        hear(blind);
    }
    ASSERT_FALSE(next_packet(other, now_)) << "the window is full";
    ASSERT_FALSE(other.rtt.has_sample());
    for (std::size_t number = 0; number < 8; ++number) {
        sack_packet late = sack(126, 0, sent[number]);
        for (unsigned slot = 0; slot < paths_.size(); ++slot) {
            late.entropy = paths_.path(slot).entropy;
            hear(late);
        }
    }
    ASSERT_TRUE(other.rtt.has_sample());
    EXPECT_LT(other.rtt.smoothed(), 1ms);
}

class dynamic_mpr_test : public requester_test
{
protected:
    dynamic_mpr_test() : requester_test{dynamic()} {}
    static qp_config dynamic()
    {
        qp_config config = make_config();
        config.window_psns = 512;
        config.dynamic_mpr = true;
        return config;
    }
};

TEST_F(dynamic_mpr_test, newest_range_of_the_peer_bounds_what_is_sent)
{
    write(1000);
    std::vector<outgoing> sent = send();
    ASSERT_EQ(sent.size(), 511u);
    now_ += 30us;
    sack_packet smaller = sack(509, 0, sent[509]);
    smaller.mpr = 1;
    receive(smaller);
    EXPECT_EQ(send().size(), 127u - 1u) << "128 PSNs beyond 509, one less by choice, one in flight";
    sack_packet older = sack(300, 0, sent[300]);
    older.mpr = 4;
    receive(older);
    EXPECT_TRUE(send().empty()) << "an older SACK says nothing new";
    sack_packet huge = sack(510, 0, sent[510]);
    huge.mpr = 32;
    receive(huge);
    EXPECT_EQ(send().size(), 1000u - 511u - 126u) << "at most what was agreed";
}

class service_time_test : public requester_test
{
protected:
    service_time_test() : requester_test{serviced()} {}
    static qp_config serviced()
    {
        qp_config config = make_config();
        config.service_time = true;
        return config;
    }
};

TEST_F(service_time_test, round_trip_leaves_out_what_the_peer_took)
{
    write(1);
    const auto sent = send();
    now_ += 1024us;
    sack_packet late = sack(0, 0, sent[0]);
    late.tx_timestamp = static_cast<std::uint16_t>(late.tx_timestamp + 7500); // 960 us
    receive(late);
    EXPECT_NEAR(static_cast<double>(requester_.rtt.smoothed().count()), 64'000, 256);
}

} // namespace
} // namespace mrc::protocol
