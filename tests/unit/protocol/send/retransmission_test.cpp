// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/retransmission.h"

#include "unit/protocol/send/requester_fixture.h"

namespace mrc::protocol
{
namespace
{

using retransmission_test = requester_test;

TEST_F(retransmission_test, trimmed_packet_is_sent_again_at_once_and_its_path_skipped)
{
    write(4);
    const auto sent = send();
    now_ += 30us;
    nack_packet nack;
    nack.sequence = at(1);
    nack.reason = MRC_NACK_TRIMMED;
    nack.entropy = sent[1].entropy;
    nack.tx_timestamp = *data(sent[1]).tx_timestamp;
    arrival how;
    how.at = now_;
    on_nack(requester_, nack, how, now_);
    EXPECT_TRUE(selector_.skipped(*paths_.slot_of(sent[1].entropy)));
    const auto again = send();
    ASSERT_EQ(again.size(), 1u);
    EXPECT_EQ(data(again[0]).sequence, at(1));
    on_nack(requester_, nack, how, now_);
    EXPECT_TRUE(send().empty()) << "the NACK of an earlier transmission";
}

TEST_F(retransmission_test, resource_nack_waits_for_the_timer)
{
    write(1);
    const auto sent = send();
    now_ += 30us;
    nack_packet nack;
    nack.sequence = at(0);
    nack.reason = MRC_NACK_NO_RESOURCE;
    nack.entropy = sent[0].entropy;
    nack.tx_timestamp = *data(sent[0]).tx_timestamp;
    arrival how;
    how.at = now_;
    on_nack(requester_, nack, how, now_);
    EXPECT_EQ(control_.inflight(), 0);
    EXPECT_TRUE(send().empty());
    const instant until = now_ + 10ms;
    bool resent = false;
    while (!resent && now_ < until) {
        now_ = next_deadline(requester_);
        on_timer(requester_, now_);
        for (const outgoing &packet : send())
            resent = resent || std::holds_alternative<data_packet>(packet.content);
    }
    EXPECT_TRUE(resent);
    EXPECT_EQ(counters_.timeouts, 0u);
}

TEST_F(retransmission_test, lost_port_repeats_its_packets_at_once_elsewhere)
{
    write(8);
    const auto sent = send();
    local_.up.set(plane_index{1}, false);
    const auto again = send();
    ASSERT_EQ(again.size(), 4u);
    for (const outgoing &packet : again) {
        EXPECT_TRUE(data(packet).retransmission);
        EXPECT_EQ(mrc_ev_plane(packet.entropy.value), 0u);
    }
    EXPECT_FALSE(paths_.next_transition());
}

TEST_F(retransmission_test, peer_port_that_goes_down_repeats_its_packets_elsewhere)
{
    write(8);
    (void)send();
    peer_ports_.set(plane_index{0}, false);
    const auto again = send();
    ASSERT_EQ(again.size(), 4u);
    for (const outgoing &packet : again)
        EXPECT_EQ(plane_of(packet), 1u);
}

TEST_F(retransmission_test, draining_port_takes_nothing_new_and_gives_nothing_up)
{
    write(8);
    (void)send();
    local_.enabled.set(plane_index{1}, false);
    EXPECT_TRUE(send().empty()) << "what is in flight may arrive";
    write(4);
    for (const outgoing &packet : send()) {
        EXPECT_FALSE(data(packet).retransmission);
        EXPECT_EQ(plane_of(packet), 0u);
    }
}

// A controller that counts what shrinks its window.
class counting_window final : public congestion_control
{
public:
    void on_sent(std::uint32_t, instant) override {}
    void on_sack(const sack_signal &, instant) override {}
    void on_nack(const nack_signal &, instant) override {}
    void on_loss(std::uint32_t, instant) override { ++losses; }
    void on_abandoned(std::uint32_t) override { ++abandoned; }
    [[nodiscard]] bool can_send(std::uint32_t) const override { return true; }
    [[nodiscard]] std::uint64_t cwnd() const override { return 1 << 20; }
    [[nodiscard]] std::uint64_t max_cwnd() const override { return 1 << 20; }
    [[nodiscard]] std::int64_t inflight() const override { return 0; }

    unsigned losses = 0;
    unsigned abandoned = 0;
};

class window_test : public retransmission_test
{
protected:
    // Eight packets over both planes are in flight.
    void fly(requester_state &sender)
    {
        ASSERT_TRUE(post(sender, {.id = 1, .source = {5, 0, 8 * payload_bytes}, .remote_va = 0, .rkey = 7}));
        while (next_packet(sender, now_)) {
        }
    }
    // Plane 1 has delivered nothing since; another queue pair found out.
    void silence_plane(path_group &paths) const
    {
        for (const unsigned slot : {0u, 1u})
            paths.on_delivered(slot, now_ + 1us);
        for (const unsigned slot : {2u, 3u})
            paths.on_silence(slot, now_, now_ + 300us);
    }
};

TEST_F(window_test, lost_link_is_no_congestion)
{
    counting_window window;
    qp_config config = make_config();
    config.trim_nack = false;
    requester_state sender{config, {paths_, peer_ports_, peer_}, proofs_, selector_, window, counters_};
    fly(sender);
    local_.up.set(plane_index{1}, false);
    leave_dead_paths(sender, now_ + 1us);
    EXPECT_EQ(window.abandoned, 4u);
    EXPECT_EQ(window.losses, 0u);
}

// Where congestion trims, it is told of; where it drops, silence may be its doing.
TEST_F(window_test, silent_paths_are_congestion_only_where_it_drops)
{
    for (const bool trims : {true, false}) {
        SCOPED_TRACE(trims);
        path_group paths{make_group(), local_};
        counting_window window;
        qp_config config = make_config();
        config.trim_nack = trims;
        requester_state sender{config, {paths, peer_ports_, peer_}, proofs_, selector_, window, counters_};
        fly(sender);
        silence_plane(paths);
        leave_dead_paths(sender, now_ + 300us);
        EXPECT_EQ(window.abandoned, trims ? 4u : 0u);
        EXPECT_EQ(window.losses, trims ? 0u : 4u);
    }
}

// Where there is but one plane, and so no other one to go to (protocol.md §3.2).
TEST_F(retransmission_test, nacked_packet_takes_another_path)
{
    path_group_config one_plane = make_group();
    one_plane.planes = 1;
    path_group paths{one_plane, local_};
    sack_proofs proofs{paths.size()};
    mrc_selector selector{paths, 1};
    requester_state other{make_config(), {paths, peer_ports_, peer_}, proofs, selector, control_, counters_};
    const auto nack = [&](const outgoing &sent, std::uint8_t reason) {
        arrival how;
        how.at = now_;
        on_nack(other, nack_of(sent, reason), how, now_);
    };
    for (unsigned round = 0; round < 20; ++round) {
        ASSERT_TRUE(post(other, {.id = 1, .source = {5, 0, payload_bytes}, .remote_va = 0, .rkey = 7}));
        outgoing sent = next_packet(other, now_).value();
        for (const auto reason : {MRC_NACK_TRIMMED_LASTHOP, MRC_NACK_TRIMMED, MRC_NACK_TRIMMED_LASTHOP}) {
            now_ += 30us;
            nack(sent, static_cast<std::uint8_t>(reason));
            const auto again = next_packet(other, now_);
            ASSERT_TRUE(again && data(*again).retransmission);
            EXPECT_NE(again->path, sent.path);
            sent = *again;
        }
        now_ += 30us;
        arrival how;
        how.at = now_;
        on_sack(other, sack(round, 0, sent), how, now_);
    }
    paths.deny(0);
    ASSERT_TRUE(post(other, {.id = 1, .source = {5, 0, payload_bytes}, .remote_va = 0, .rkey = 7}));
    const outgoing only = next_packet(other, now_).value();
    now_ += 30us;
    nack(only, MRC_NACK_TRIMMED_LASTHOP);
    EXPECT_EQ(next_packet(other, now_)->path, only.path) << "there is no other";
}

} // namespace
} // namespace mrc::protocol
