// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "protocol/send/send_queue.h"

namespace mrc::protocol
{
namespace
{

write_request write(std::uint64_t id, std::uint32_t bytes, bool signaled = true)
{
    return {.id = id, .source = {1, 0, bytes}, .remote_va = 0, .rkey = 1, .signaled = signaled};
}

TEST(send_queue, cuts_requests_into_packets)
{
    send_queue queue{8, 1024};
    for (const std::uint32_t bytes : {0u, 1u, 1024u, 1025u, 4096u})
        ASSERT_TRUE(queue.post(write(bytes, bytes)));
    EXPECT_EQ(queue.end(), 1 + 1 + 1 + 2 + 4);
    EXPECT_EQ(queue.at(queue.index_for_new(4)).work.id, 1025u);
    EXPECT_EQ(queue.at(queue.index_for_new(4)).msn, 3);
    EXPECT_EQ(queue.at(queue.index_for_new(5)).work.id, 4096u);
}

TEST(send_queue, refuses_what_is_too_long_or_too_many)
{
    send_queue queue{2, 256};
    EXPECT_EQ(queue.post(write(0, 0x80000001u)).error(), post_error::too_long);
    ASSERT_TRUE(queue.post(write(1, 0x80000000u)));
    EXPECT_EQ(queue.end(), 1 << 23) << "more packets than PSNs on one side of the circle";
    ASSERT_TRUE(queue.post(write(2, 1)));
    EXPECT_EQ(queue.post(write(3, 1)).error(), post_error::queue_full);
}

TEST(send_queue, completes_in_order_on_cumulative_acks)
{
    send_queue queue{8, 1024};
    for (std::uint64_t id = 0; id < 4; ++id)
        ASSERT_TRUE(queue.post(write(id, 2048, id != 1)));
    EXPECT_FALSE(queue.acknowledge(0)) << "half a request";
    EXPECT_FALSE(queue.next_completion());
    EXPECT_TRUE(queue.acknowledge(5));
    EXPECT_FALSE(queue.acknowledge(3)) << "an old one";
    EXPECT_EQ(queue.next_completion()->id, 0u);
    EXPECT_EQ(queue.next_completion()->id, 2u) << "1 is unsignalled";
    EXPECT_FALSE(queue.next_completion());
    EXPECT_EQ(queue.outstanding(), 1u);
    EXPECT_EQ(queue.oldest_unacked()->work.id, 3u);
}

TEST(send_queue, failure_completes_the_oldest_and_flushes_the_rest_unsignalled_too)
{
    send_queue queue{8, 1024};
    for (std::uint64_t id = 0; id < 4; ++id)
        ASSERT_TRUE(queue.post(write(id, 10, false)));
    queue.acknowledge(0);
    queue.fail(completion_status::retry_exceeded);
    queue.fail(completion_status::flushed);
    EXPECT_EQ(queue.post(write(9, 1)).error(), post_error::wrong_state);
    const auto first = queue.next_completion();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->id, 1u);
    EXPECT_EQ(first->status, completion_status::retry_exceeded);
    for (std::uint64_t id = 2; id < 4; ++id) {
        const auto next = queue.next_completion();
        ASSERT_TRUE(next);
        EXPECT_EQ(next->id, id);
        EXPECT_EQ(next->status, completion_status::flushed);
    }
    EXPECT_FALSE(queue.next_completion());
    EXPECT_EQ(queue.outstanding(), 0u);
}

// Requests must not be mixed up when a slot is posted again while the last packets of its neighbour are due.
TEST(send_queue, reused_slots_keep_packets_apart)
{
    send_queue queue{2, 1024};
    packet_number next = 0;
    for (std::uint64_t id = 0; id < 50; id += 2) {
        ASSERT_TRUE(queue.post(write(id, 3000)));
        ASSERT_TRUE(queue.post(write(id + 1, 100)));
        for (const std::uint64_t expected : {id, id, id, id + 1})
            EXPECT_EQ(queue.at(queue.index_for_new(next++)).work.id, expected);
        queue.acknowledge(next - 1);
        while (queue.next_completion()) {
        }
    }
}

} // namespace
} // namespace mrc::protocol
