// SPDX-License-Identifier: Apache-2.0
#include "unit/protocol/send/requester_fixture.h"

namespace mrc::protocol
{
namespace
{

using silence_test = requester_test;

class shared_window_test : public requester_test
{
protected:
    static constexpr std::int64_t packet = nominal_bytes(payload_bytes);

    // Its first packets get no answer until it calls that silence.
    void fall_silent()
    {
        while (counters_.silences == 0)
            on_timer(requester_, now_ = next_deadline(requester_));
    }
};

TEST_F(silence_test, silence_probes_and_sends_only_the_oldest_again)
{
    write(20);
    (void)send();
    std::vector<outgoing> sent;
    const instant until = now_ + 20ms;
    while (now_ < until) {
        now_ = next_deadline(requester_);
        on_timer(requester_, now_);
        for (const outgoing &packet : send())
            sent.push_back(packet);
    }
    unsigned probes = 0;
    for (const outgoing &packet : sent) {
        if (std::holds_alternative<probe_packet>(packet.content))
            ++probes;
        else
            EXPECT_EQ(data(packet).sequence, at(0));
    }
    EXPECT_GE(probes, 4u);
    EXPECT_LE(probes, 20u) << "two at a time";
    EXPECT_EQ(sent.size() - probes, 2u) << "4 and 12 ms after the time-out";
    EXPECT_EQ(counters_.silences, 1u);
    EXPECT_FALSE(paths_.next_transition()) << "nobody is to blame";
}

TEST_F(shared_window_test, packets_sent_to_a_silent_peer_leave_the_window_once)
{
    write(10);
    const auto sent = send();
    ASSERT_EQ(control_.inflight(), 10 * packet);
    fall_silent();
    EXPECT_EQ(control_.inflight(), 0);
    const auto again = send();
    ASSERT_EQ(again.size(), 2u) << "probes on both planes";
    EXPECT_NE(plane_of(again[0]), plane_of(again[1]));
    EXPECT_EQ(control_.inflight(), 0);
    EXPECT_EQ(requester_.flying.packets, 10u);

    now_ += 50us;
    receive(sack(4, 0, sent[4])); // half of it had come through
    EXPECT_EQ(control_.inflight(), 0);
    EXPECT_EQ(requester_.flying.packets, 5u);
    nack_packet nack = nack_of(sent[5], MRC_NACK_NO_RESOURCE);
    arrival how;
    how.at = now_;
    on_nack(requester_, nack, how, now_);
    EXPECT_EQ(control_.inflight(), 0);
    acknowledge(7);
    EXPECT_EQ(control_.inflight(), 0);
    write(1);
    EXPECT_EQ(send().size(), 1u);
    EXPECT_EQ(control_.inflight(), packet) << "the silence is over";
    fail(requester_, completion_status::flushed);
    EXPECT_EQ(control_.inflight(), 0);
    EXPECT_EQ(requester_.flying.packets, 0u);
}

// Window and pace of the time before: what the silence swallowed counts for its own QP until that is known.
TEST_F(shared_window_test, the_window_opens_again_only_as_answers_come)
{
    fixed_window narrow{16 * packet};
    requester_state other{make_config(), {paths_, peer_ports_, peer_}, proofs_, selector_, narrow, counters_};
    ASSERT_TRUE(post(other, {.id = 1, .source = {5, 0, 100 * payload_bytes}, .remote_va = 0, .rkey = 7}));
    const auto send_all = [&] {
        std::vector<outgoing> sent;
        while (auto next = next_packet(other, now_))
            if (std::holds_alternative<data_packet>(next->content))
                sent.push_back(*next);
        return sent;
    };
    const auto sent = send_all();
    ASSERT_EQ(sent.size(), 16u);
    while (counters_.silences == 0)
        on_timer(other, now_ = next_deadline(other));
    ASSERT_EQ(send_all().size(), 0u) << "probes ask first";
    now_ += 50us;
    arrival how;
    how.at = now_;
    on_sack(other, sack(3, 0, sent[3]), how, now_);
    const auto next = send_all();
    EXPECT_LE(next.size(), 4u) << "four were answered";
    EXPECT_GE(next.size(), 1u);
}

} // namespace
} // namespace mrc::protocol
