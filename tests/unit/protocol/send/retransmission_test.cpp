// SPDX-License-Identifier: Apache-2.0
// What the requester does about losses, and about what the peer says of itself.
#include "unit/protocol/send/requester_fixture.h"

namespace mrc::protocol
{
namespace
{

class requester_recovery_test : public requester_test
{
protected:
    using requester_test::requester_test;

    // One packet at a time, a microsecond apart.
    std::vector<outgoing> trickle(std::uint32_t packets)
    {
        post(packets);
        std::vector<outgoing> sent;
        while (auto packet = requester_.next_packet(now_)) {
            sent.push_back(*packet);
            now_ += 1us;
        }
        return sent;
    }
    [[nodiscard]] unsigned plane_of(const outgoing &packet) const { return mrc_ev_plane(packet.entropy.value); }
    // All of these packets arrive, the first of which is number `first`, but those on plane `dead`; each is answered by
    // a SACK.
    void deliver_but(unsigned dead, packet_number first, const std::vector<outgoing> &sent)
    {
        packet_number edge = first - 1;
        std::uint64_t bits = 0; // from edge + 1
        for (std::size_t i = 0; i < sent.size(); ++i) {
            if (plane_of(sent[i]) == dead)
                continue;
            bits |= std::uint64_t{1} << (first + static_cast<packet_number>(i) - edge - 1);
            for (; (bits & 1) != 0; bits >>= 1)
                ++edge;
            receive(sack(edge, bits, sent[i]));
        }
    }
    static constexpr unsigned none = 9;
};

TEST_F(requester_recovery_test, dead_plane_is_left_within_a_round_trip)
{
    // First a clean exchange teaches it a round trip of 20 us.
    const auto warm = trickle(16);
    now_ += 20us;
    deliver_but(none, 0, warm);
    ASSERT_EQ(counters_.losses_by_age, 0u);

    const auto sent = trickle(40);
    now_ += 20us;
    deliver_but(1, 16, sent);
    EXPECT_GT(counters_.losses_by_age, 0u);
    EXPECT_EQ(counters_.timeouts, 0u);
    EXPECT_EQ(paths_.good_planes().bits(), 0b01u) << "the plane as a whole";
    const auto again = send();
    EXPECT_EQ(again.size(), 20u) << "everything in flight there, at once";
    for (const outgoing &packet : again) {
        EXPECT_TRUE(data(packet).retransmission);
        EXPECT_EQ(plane_of(packet), 0u);
    }
}

TEST_F(requester_recovery_test, overtaking_within_the_skew_is_no_loss)
{
    const auto sent = trickle(16);
    now_ += 20us;
    // Plane 1 is late by about ten packets, always.
    for (std::size_t i = 10; i < sent.size(); ++i) {
        std::uint64_t bits = 0;
        packet_number edge = -1;
        for (std::size_t k = 0; k < sent.size(); ++k)
            if (plane_of(sent[k]) == 0 ? k <= i : k + 10 <= i)
                bits |= std::uint64_t{1} << k;
        while ((bits & 1) != 0) {
            bits >>= 1;
            ++edge;
        }
        receive(sack(edge, bits, sent[i - (plane_of(sent[i]) == 0 ? 0 : 10)]));
        now_ += 1us;
    }
    EXPECT_EQ(counters_.losses + counters_.losses_by_age, 0u);
    EXPECT_EQ(paths_.good_planes().bits(), 0b11u);
}

// Such a peer gives no RTT samples, so there is no age; and of a hundred packets no two take the same path.
TEST_F(requester_recovery_test, peer_that_reflects_no_entropy_is_served_by_sleek)
{
    path_group_config many = make_group();
    many.uplinks = 64;
    path_group paths{many, local_};
    mrc_selector selector{paths, 1};
    fixed_window narrow{std::uint64_t{16} * nominal_bytes(payload_bytes)};
    requester other{make_config(), {paths, peer_ports_, peer_}, selector, narrow, counters_};
    ASSERT_TRUE(other.post({.id = 1, .source = {5, 0x1000, 100 * payload_bytes}, .remote_va = 0, .rkey = 7}, now_));
    // Packet 0 is lost; everything after it arrives and frees the window.
    unsigned again = 0;
    for (packet_number newest = 0; newest < 60 && again == 0;) {
        std::vector<outgoing> sent;
        while (auto packet = other.next_packet(now_))
            sent.push_back(*packet);
        now_ += 30us;
        for (const outgoing &packet : sent) {
            if (std::holds_alternative<probe_packet>(packet.content))
                continue;
            again += data(packet).retransmission && data(packet).sequence == at(0) ? 1 : 0;
            newest = std::max(newest, psn_space{psn{0xFFFFFE}}.number_of(data(packet).sequence, newest));
        }
        sack_packet blind;
        blind.cack = at(-1);
        blind.ack_psn_offset = static_cast<std::int16_t>(newest + 1);
        blind.bitmap = (newest >= 63 ? ~std::uint64_t{0} : (std::uint64_t{1} << (newest + 1)) - 1) & ~std::uint64_t{1};
        blind.ooo_count = static_cast<std::uint16_t>(newest);
        arrival how;
        how.at = now_;
        other.on_sack(blind, how, now_);
    }
    EXPECT_EQ(again, 1u);
    EXPECT_EQ(counters_.losses_by_sleek, 1u);
    EXPECT_EQ(counters_.timeouts, 0u);
}

TEST_F(requester_recovery_test, peer_port_that_goes_down_repeats_its_packets_elsewhere)
{
    post(8);
    (void)send();
    peer_ports_.set(plane{0}, false);
    const auto again = send();
    ASSERT_EQ(again.size(), 4u);
    for (const outgoing &packet : again)
        EXPECT_EQ(plane_of(packet), 1u);
}

TEST_F(requester_recovery_test, draining_port_takes_nothing_new_and_gives_nothing_up)
{
    post(8);
    (void)send();
    local_.enabled.set(plane{1}, false);
    EXPECT_TRUE(send().empty()) << "what is in flight may arrive";
    post(4);
    for (const outgoing &packet : send()) {
        EXPECT_FALSE(data(packet).retransmission);
        EXPECT_EQ(plane_of(packet), 0u);
    }
}

TEST_F(requester_recovery_test, transport_ack_that_comes_first_takes_no_sample_away)
{
    post(1);
    const auto sent = send();
    now_ += 50us;
    acknowledge(0);
    EXPECT_EQ(control_.inflight(), 0);
    EXPECT_FALSE(requester_.rtt().has_sample());
    receive(sack(0, 0, sent[0]));
    EXPECT_NEAR(static_cast<double>(requester_.rtt().smoothed().count()), 50'000, 128);
    now_ += 1ms;
    receive(sack(0, 0, sent[0]));
    EXPECT_NEAR(static_cast<double>(requester_.rtt().smoothed().count()), 50'000, 128) << "one sample a transmission";
}

TEST_F(requester_recovery_test, syndromes_that_are_neither_ack_nor_nak_complete_nothing)
{
    post(1);
    (void)send();
    for (const int syndrome : {0x20, 0x3F, 0x40, 0x5F})
        acknowledge(0, static_cast<std::uint8_t>(syndrome));
    EXPECT_FALSE(requester_.next_completion());
    EXPECT_EQ(counters_.acks_unknown, 4u);
    EXPECT_EQ(requester_.inflight_packets(), 1u);
}

TEST_F(requester_recovery_test, always_skip_is_believed_of_the_path_that_a_packet_took)
{
    post(1);
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

TEST_F(requester_recovery_test, nacks_are_told_apart)
{
    post(2);
    const auto sent = send();
    now_ += 30us;
    nack_packet nack;
    nack.sequence = at(0);
    nack.reason = 0x77;
    nack.entropy = sent[0].entropy;
    nack.tx_timestamp = *data(sent[0]).tx_timestamp;
    arrival how;
    how.at = now_;
    requester_.on_nack(nack, how, now_);
    EXPECT_EQ(counters_.nacks_unknown, 1u);
    EXPECT_FALSE(requester_.failure()) << "recoverable";
    requester_.on_nack(nack, how, now_);
    EXPECT_EQ(counters_.nacks_stale, 1u);
    nack.sequence = at(9);
    requester_.on_nack(nack, how, now_);
    EXPECT_EQ(counters_.nacks_rejected, 1u);
}

// The oldest packet that is remembered gives way to the next one when that leaves, not when it is only considered.
TEST_F(requester_recovery_test, late_sack_of_the_oldest_packet_remembered_tells_its_own_round_trip)
{
    // Stamps begin anew: whoever took a blank record for the packet would find the host's uptime a round trip.
    now_ = instant{duration{std::int64_t{1} << 16 << MRC_TS_TICK_SHIFT} * 100};
    fixed_window narrow{nominal_bytes(payload_bytes)};
    requester other{make_config(), {paths_, peer_ports_, peer_}, selector_, narrow, counters_};
    ASSERT_TRUE(other.post({.id = 1, .source = {5, 0, 200 * payload_bytes}, .remote_va = 0, .rkey = 7}, now_));
    std::vector<outgoing> sent;
    const auto hear = [&](const sack_packet &said) {
        arrival how;
        how.at = now_;
        other.on_sack(said, how, now_);
    };
    while (sent.size() < 128) {
        const auto packet = other.next_packet(now_);
        ASSERT_TRUE(packet);
        sent.push_back(*packet);
        if (sent.size() == 128)
            break;
        now_ += 1us;
        sack_packet blind = sack(static_cast<packet_number>(sent.size()) - 1, 0, sent.back());
        blind.entropy = ev{}; // gives no sample
        hear(blind);
    }
    ASSERT_FALSE(other.next_packet(now_)) << "the window is full";
    ASSERT_FALSE(other.rtt().has_sample());
    for (std::size_t number = 0; number < 8; ++number) {
        sack_packet late = sack(126, 0, sent[number]);
        for (unsigned slot = 0; slot < paths_.size(); ++slot) {
            late.entropy = paths_.path(slot).entropy;
            hear(late);
        }
    }
    ASSERT_TRUE(other.rtt().has_sample());
    EXPECT_LT(other.rtt().smoothed(), 1ms);
}

// Where there is but one plane, and so no other one to go to (protocol text 3.2).
TEST_F(requester_recovery_test, nacked_packet_takes_another_path)
{
    path_group_config one_plane = make_group();
    one_plane.planes = 1;
    path_group paths{one_plane, local_};
    mrc_selector selector{paths, 1};
    requester other{make_config(), {paths, peer_ports_, peer_}, selector, control_, counters_};
    const auto nack = [&](const outgoing &sent, std::uint8_t reason) {
        arrival how;
        how.at = now_;
        other.on_nack(nack_of(sent, reason), how, now_);
    };
    for (unsigned round = 0; round < 20; ++round) {
        ASSERT_TRUE(other.post({.id = 1, .source = {5, 0, payload_bytes}, .remote_va = 0, .rkey = 7}, now_));
        outgoing sent = other.next_packet(now_).value();
        for (const auto reason : {MRC_NACK_TRIMMED_LASTHOP, MRC_NACK_TRIMMED, MRC_NACK_TRIMMED_LASTHOP}) {
            now_ += 30us;
            nack(sent, static_cast<std::uint8_t>(reason));
            const auto again = other.next_packet(now_);
            ASSERT_TRUE(again && data(*again).retransmission);
            EXPECT_NE(again->path, sent.path);
            sent = *again;
        }
        now_ += 30us;
        arrival how;
        how.at = now_;
        other.on_sack(sack(round, 0, sent), how, now_);
    }
    paths.deny(0);
    ASSERT_TRUE(other.post({.id = 1, .source = {5, 0, payload_bytes}, .remote_va = 0, .rkey = 7}, now_));
    const outgoing only = other.next_packet(now_).value();
    now_ += 30us;
    nack(only, MRC_NACK_TRIMMED_LASTHOP);
    EXPECT_EQ(other.next_packet(now_)->path, only.path) << "there is no other";
}

class dynamic_mpr_test : public requester_recovery_test
{
protected:
    dynamic_mpr_test() : requester_recovery_test{dynamic()} {}
    static qp_config dynamic()
    {
        qp_config config = make_config();
        config.window_psns = 512;
        config.dynamic_mpr = true;
        return config;
    }
};

TEST_F(dynamic_mpr_test, newest_word_of_the_peer_bounds_what_is_sent)
{
    post(1000);
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

class service_time_test : public requester_recovery_test
{
protected:
    service_time_test() : requester_recovery_test{serviced()} {}
    static qp_config serviced()
    {
        qp_config config = make_config();
        config.service_time = true;
        return config;
    }
};

TEST_F(service_time_test, round_trip_leaves_out_what_the_peer_took)
{
    post(1);
    const auto sent = send();
    now_ += 1024us;
    sack_packet late = sack(0, 0, sent[0]);
    late.tx_timestamp = static_cast<std::uint16_t>(late.tx_timestamp + 7500); // 960 us
    receive(late);
    EXPECT_NEAR(static_cast<double>(requester_.rtt().smoothed().count()), 64'000, 256);
}

} // namespace
} // namespace mrc::protocol
