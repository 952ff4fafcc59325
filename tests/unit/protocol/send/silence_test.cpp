// SPDX-License-Identifier: Apache-2.0
// What a requester that hears nothing does to those with whom it shares the window and the paths.
#include "unit/protocol/send/requester_fixture.h"

namespace mrc::protocol
{
namespace
{

class shared_window_test : public requester_test
{
protected:
    static constexpr std::int64_t packet = nominal_bytes(payload_bytes);

    // Its first packets get no answer until it calls that silence.
    void fall_silent()
    {
        while (counters_.silences == 0)
            requester_.on_timer(now_ = requester_.next_deadline());
    }
};

TEST_F(shared_window_test, packets_into_silence_leave_the_window_once)
{
    post(10);
    const auto sent = send();
    ASSERT_EQ(control_.inflight(), 10 * packet);
    fall_silent();
    EXPECT_EQ(control_.inflight(), 0);
    const auto again = send();
    EXPECT_EQ(again.size(), 2u) << "a probe and the oldest";
    EXPECT_EQ(control_.inflight(), 0);
    EXPECT_EQ(requester_.inflight_packets(), 10u);

    now_ += 50us;
    receive(sack(4, 0, sent[4])); // half of it had come through
    EXPECT_EQ(control_.inflight(), 0);
    EXPECT_EQ(requester_.inflight_packets(), 5u);
    nack_packet nack = nack_of(sent[5], MRC_NACK_NO_RESOURCE);
    arrival how;
    how.at = now_;
    requester_.on_nack(nack, how, now_);
    EXPECT_EQ(control_.inflight(), 0);
    acknowledge(7);
    EXPECT_EQ(control_.inflight(), 0);
    post(1);
    EXPECT_EQ(send().size(), 1u);
    EXPECT_EQ(control_.inflight(), packet) << "the silence is over";
    requester_.fail(completion_status::flushed);
    EXPECT_EQ(control_.inflight(), 0);
    EXPECT_EQ(requester_.inflight_packets(), 0u);
}

// The copy of the packet that made the silence: which path swallowed the original, if one did?
TEST_F(shared_window_test, path_of_a_silence_is_blamed_when_the_copy_is_answered_at_once)
{
    for (const duration answer :
         {duration{3ms}, duration{50us}}) { // of a time-out of 4 ms: there is no sample of a round trip
        counters_ = {};
        requester other{make_config(), {paths_, peer_ports_, peer_}, selector_, control_, counters_};
        ASSERT_TRUE(other.post({.id = 1, .source = {5, 0, payload_bytes}, .remote_va = 0, .rkey = 7}, now_));
        const outgoing swallowed = other.next_packet(now_).value();
        while (counters_.silences == 0)
            other.on_timer(now_ = other.next_deadline());
        std::optional<outgoing> copy = other.next_packet(now_);
        while (copy && !std::holds_alternative<data_packet>(copy->content))
            copy = other.next_packet(now_);
        ASSERT_TRUE(copy);
        now_ += answer;
        arrival how;
        how.at = now_;
        other.on_sack(sack(0, 0, *copy), how, now_);
        const unsigned slot = paths_.slot_of(swallowed.entropy).value();
        EXPECT_EQ(paths_.counters(slot).losses, answer < 1ms ? 1u : 0u);
    }
}

// Window and pace of the time before: what the silence swallowed counts for its own QP until that is known.
TEST_F(shared_window_test, what_flew_into_silence_is_made_up_for_as_answers_come)
{
    fixed_window narrow{16 * packet};
    requester other{make_config(), {paths_, peer_ports_, peer_}, selector_, narrow, counters_};
    ASSERT_TRUE(other.post({.id = 1, .source = {5, 0, 100 * payload_bytes}, .remote_va = 0, .rkey = 7}, now_));
    const auto send_all = [&] {
        std::vector<outgoing> sent;
        while (auto next = other.next_packet(now_))
            if (std::holds_alternative<data_packet>(next->content))
                sent.push_back(*next);
        return sent;
    };
    const auto sent = send_all();
    ASSERT_EQ(sent.size(), 16u);
    while (counters_.silences == 0)
        other.on_timer(now_ = other.next_deadline());
    ASSERT_EQ(send_all().size(), 1u);
    now_ += 50us;
    arrival how;
    how.at = now_;
    other.on_sack(sack(3, 0, sent[3]), how, now_);
    const auto next = send_all();
    EXPECT_LE(next.size(), 4u) << "four were answered";
    EXPECT_GE(next.size(), 1u);
}

} // namespace
} // namespace mrc::protocol
