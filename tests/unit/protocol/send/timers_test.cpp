// SPDX-License-Identifier: Apache-2.0
#include "unit/protocol/send/requester_fixture.h"

namespace mrc::protocol
{
namespace
{

using timers_test = requester_test;

TEST_F(timers_test, nothing_is_due_while_the_peer_owes_nothing)
{
    EXPECT_EQ(next_deadline(requester_), never);
    write(1);
    const auto sent = send();
    EXPECT_NE(next_deadline(requester_), never);
    now_ += 50us;
    receive(sack(0, 0, sent[0]));
    EXPECT_NE(next_deadline(requester_), never) << "SACKed, but not acknowledged";
    acknowledge(0);
    EXPECT_EQ(next_deadline(requester_), never);
}

TEST_F(timers_test, quiet_tail_is_probed_before_it_times_out)
{
    write(2);
    (void)send();
    now_ = next_deadline(requester_);
    on_timer(requester_, now_);
    const auto sent = send();
    ASSERT_EQ(sent.size(), 2u);
    for (const outgoing &packet : sent)
        EXPECT_TRUE(std::holds_alternative<probe_packet>(packet.content));
    EXPECT_EQ(plane_of(sent[0]), 0u) << "where the oldest flies";
    EXPECT_EQ(plane_of(sent[1]), 1u) << "and elsewhere";
    EXPECT_EQ(counters_.timeouts, 0u);
}

// A flight too short for age to show in its own SACKs. All paths have carried packets before.
class late_packet_test : public timers_test
{
protected:
    void SetUp() override
    {
        write(8);
        const auto before = send();
        now_ += rtt;
        receive(sack(7, 0, before[7]));
        acknowledge(7);
        now_ += 1ms;
        begun_ = now_;
        sent_ = trickle(3);
    }
    // All but the first have arrived.
    void receive_rest()
    {
        now_ = begun_ + rtt + 2us;
        sack_packet gap = sack(7, 0b110, sent_[2]);
        gap.sack_offset = 1;
        receive(gap);
    }

    static constexpr duration rtt = 50us;
    instant begun_;
    std::vector<outgoing> sent_;
};

TEST_F(late_packet_test, is_asked_for_after_one_and_a_half_round_trips)
{
    receive_rest();
    EXPECT_TRUE(send().empty());
    now_ = next_deadline(requester_);
    EXPECT_LE(now_ - begun_, 2 * rtt) << "at a quiet tail it would be three and more";
    on_timer(requester_, now_);
    const auto probes = send();
    ASSERT_EQ(probes.size(), 2u);
    EXPECT_TRUE(std::holds_alternative<probe_packet>(probes[0].content));
    EXPECT_EQ(probes[0].path, sent_[0].path) << "where it flies";
    EXPECT_NE(plane_of(probes[1]), plane_of(sent_[0])) << "and on another plane";
    EXPECT_EQ(counters_.retransmits, 0u) << "it may have arrived since";

    now_ += rtt; // the answer of the second proves it by its age
    sack_packet answer = sack(7, 0b110, sent_[2]);
    answer.sack_offset = 1;
    answer.probe_response = true;
    answer.probe_id = std::get<probe_packet>(probes[1].content).probe_id;
    answer.entropy = probes[1].entropy;
    receive(answer);
    EXPECT_EQ(counters_.losses_by_age, 1u);
    const auto again = send();
    ASSERT_EQ(again.size(), 1u);
    EXPECT_EQ(data(again[0]).sequence, at(8));
    EXPECT_LE(now_ - begun_, 3 * rtt);
}

TEST_F(late_packet_test, is_asked_for_once)
{
    receive_rest();
    on_timer(requester_, now_ = next_deadline(requester_));
    ASSERT_EQ(send().size(), 2u);
    const std::uint64_t asked = counters_.probes_sent;
    receive_rest(); // once more, and again it is missing
    on_timer(requester_, now_ += 1us);
    (void)send();
    EXPECT_EQ(counters_.probes_sent, asked);
}

TEST_F(late_packet_test, is_waited_for_as_long_as_its_path_may_lag)
{
    requester_.skew.on_late(1ms, now_);
    receive_rest();
    EXPECT_GT(requester_.skew.lag(), 500us);
    const instant quiet = requester_.tail.next_deadline(requester_.rtt, requester_.retry.shortest());
    EXPECT_EQ(next_deadline(requester_), quiet) << "the tail's probe comes first";
}

class first_packet_test : public timers_test
{
protected:
    void expect_waited_for_as_first();
};

// A path that is ten times as long as those known has not lost its first packet yet.
void first_packet_test::expect_waited_for_as_first()
{
    write(4);
    const auto sent = send();
    now_ += 50us;
    std::uint64_t near = 0; // what flew on plane 0
    for (std::size_t i = 0; i < sent.size(); ++i)
        near |= plane_of(sent[i]) == 0 ? std::uint64_t{1} << i : 0;
    for (std::size_t i = 0; i < sent.size(); ++i)
        if ((near >> i & 1) != 0)
            receive(sack(-1, near, sent[i]));
    ASSERT_LT(requester_.rto(), 1ms);
    const instant begun = now_;
    while (counters_.timeouts == 0) {
        on_timer(requester_, now_ = next_deadline(requester_));
        EXPECT_EQ(counters_.retransmits + counters_.losses_by_age, 0u);
        (void)send();
    }
    EXPECT_GE(now_ - begun, 8 * requester_.rtt.smoothed());
    EXPECT_LE(now_ - begun, 8 * requester_.rtt.smoothed() + 2 * requester_.rto());
}

TEST_F(first_packet_test, is_waited_for_as_a_first_one)
{
    expect_waited_for_as_first();
}

// Whoever answers a probe may be quicker than whoever takes data: the path's round trip is still unknown.
TEST_F(first_packet_test, is_waited_for_as_a_first_one_although_a_probe_was_answered)
{
    paths_.watch(now_ + 1s);
    while (const auto probe = paths_.next_packet(now_)) {
        endpoint_response_packet answer;
        answer.request_id = std::get<endpoint_request_packet>(probe->content).request_id;
        EXPECT_TRUE(paths_.on_packet(answer, {}));
    }
    ASSERT_TRUE(paths_.evidence().heard(3));
    expect_waited_for_as_first();
}

TEST_F(timers_test, missing_transport_ack_is_asked_for_with_the_last_packet)
{
    write(2);
    const auto sent = send();
    now_ += 50us;
    receive(sack(1, 0, sent[1]));
    std::vector<outgoing> again;
    while (again.empty()) {
        now_ = next_deadline(requester_);
        on_timer(requester_, now_);
        for (const outgoing &one : send())
            if (std::holds_alternative<data_packet>(one.content))
                again.push_back(one);
    }
    EXPECT_EQ(data(again[0]).sequence, at(1));
    EXPECT_TRUE(data(again[0]).retransmission);
    EXPECT_EQ(requester_.flying.packets, 0u) << "it is no news, and counts in no window";
}

// T * (7 + 2 + 4 + … + 2^14) of the fixture's retry policy.
TEST_F(timers_test, queue_pair_fails_after_the_retry_time_without_progress)
{
    write(1);
    (void)send();
    const instant begun = now_;
    const duration patience = retry_policy{make_config().retry}.gives_up_after();
    while (!requester_.failure) {
        ASSERT_LE(next_deadline(requester_), begun + patience);
        now_ = next_deadline(requester_);
        on_timer(requester_, now_);
        (void)send();
    }
    EXPECT_EQ(now_, begun + patience);
    EXPECT_EQ(requester_.failure, completion_status::retry_exceeded);
}

TEST_F(timers_test, host_that_stood_still_gives_nobody_up)
{
    const duration patience = retry_policy{make_config().retry}.gives_up_after();
    write(1);
    (void)send(); // it is stopped in between: the packet leaves afterwards
    const instant due = next_deadline(requester_);
    const instant begun = now_;
    now_ = due + 2 * patience;
    on_timer(requester_, now_);
    EXPECT_FALSE(requester_.failure);

    while (!requester_.failure) { // and of its patience nothing but the time until then is spent
        now_ = next_deadline(requester_);
        on_timer(requester_, now_);
        (void)send();
    }
    EXPECT_EQ(now_, begun + 3 * patience);
}

TEST_F(timers_test, host_that_stood_still_in_silence_gives_nobody_up)
{
    const duration patience = retry_policy{make_config().retry}.gives_up_after();
    write(1);
    (void)send();
    while (!requester_.silence.active()) {
        now_ = next_deadline(requester_);
        on_timer(requester_, now_);
        (void)send();
    }
    now_ = next_deadline(requester_) + patience;
    on_timer(requester_, now_);
    EXPECT_FALSE(requester_.failure);
}

// What had come before it stood still is read first, and moves what is due.
TEST_F(timers_test, host_that_stood_still_gives_nobody_up_who_had_answered_in_part)
{
    const duration patience = retry_policy{make_config().retry}.gives_up_after();
    write(8);
    const auto sent = send();
    now_ += 2 * patience;
    receive(sack(-1, 0b110, sent[2]));
    on_timer(requester_, now_);
    EXPECT_FALSE(requester_.failure);
}

// All but the Transport ACK is there when it is stopped in its turn, and then it sends what moves the tail's probe.
TEST_F(timers_test, host_that_stood_still_gives_nobody_up_before_it_has_asked)
{
    const duration patience = retry_policy{make_config().retry}.gives_up_after();
    write(1);
    const auto sent = send();
    now_ += 50us;
    receive(sack(0, 0, sent[0]));
    now_ += 2 * patience;
    write(1);
    EXPECT_FALSE(send().empty());
    on_timer(requester_, now_);
    EXPECT_FALSE(requester_.failure);
}

TEST_F(timers_test, host_that_was_off_its_cpu_blames_no_path)
{
    write(8);
    const auto sent = send();
    now_ += 50us;
    receive(sack(0, 0, sent[0]));
    now_ += 100ms; // answers wait unread
    on_timer(requester_, now_);
    EXPECT_EQ(counters_.timeouts, 0u);
    EXPECT_EQ(requester_.blame_floor, requester_.order);
    EXPECT_FALSE(paths_.next_transition());
}

} // namespace
} // namespace mrc::protocol
