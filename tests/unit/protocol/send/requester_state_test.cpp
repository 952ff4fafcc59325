// SPDX-License-Identifier: Apache-2.0
#include "unit/protocol/send/requester_fixture.h"

namespace mrc::protocol
{
namespace
{

using requester_state_test = requester_test;

TEST_F(requester_state_test, terms_of_the_peer_only_narrow_what_the_queue_pair_was_made_with)
{
    begin(requester_, {.first = psn{5}, .window_psns = 4096, .max_wimm = 0, .retry = {}});
    EXPECT_EQ(requester_.window, 128u);
    EXPECT_EQ(requester_.space.at(0), psn{5});
    EXPECT_EQ(post(requester_, {.id = 1, .source = {}, .remote_va = 0, .rkey = 7, .immediate = 1}).error(),
              post_error::no_immediates);
    begin(requester_, {.first = psn{5}, .window_psns = 64, .max_wimm = 8, .retry = {}});
    EXPECT_EQ(requester_.window, 64u);
    EXPECT_TRUE(post(requester_, {.id = 1, .source = {}, .remote_va = 0, .rkey = 7, .immediate = 1}));
}

TEST_F(requester_state_test, drained_when_what_had_begun_is_acknowledged)
{
    write(2);
    ASSERT_TRUE(next_packet(requester_, now_));
    write(1);
    requester_.draining = true;
    EXPECT_FALSE(requester_.drained());
    EXPECT_EQ(send().size(), 1u) << "the request that had begun goes on, the other waits";
    acknowledge(1);
    EXPECT_TRUE(requester_.drained());
    EXPECT_TRUE(send().empty());
    requester_.draining = false;
    EXPECT_EQ(send().size(), 1u);
}

TEST_F(requester_state_test, failure_leaves_nothing_in_flight_and_names_the_first_reason)
{
    write(4);
    const auto sent = send();
    now_ += 30us;
    arrival how;
    how.at = now_;
    on_nack(requester_, nack_of(sent[1], MRC_NACK_NO_RESOURCE), how, now_);
    fail(requester_, completion_status::retry_exceeded);
    fail(requester_, completion_status::flushed);
    EXPECT_EQ(requester_.failure, completion_status::retry_exceeded);
    EXPECT_EQ(requester_.flying.packets, 0u);
    EXPECT_EQ(requester_.flying.charged_bytes, 0u);
    EXPECT_EQ(control_.inflight(), 0);
    EXPECT_TRUE(requester_.timers.empty());
    EXPECT_TRUE(send().empty());
    EXPECT_EQ(next_deadline(requester_), never);
    EXPECT_EQ(requester_.queue.next_completion()->status, completion_status::retry_exceeded);
}

} // namespace
} // namespace mrc::protocol
