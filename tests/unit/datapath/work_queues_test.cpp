// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "datapath/work_queues.h"
#include "unit/datapath/queue_pair_in_memory.h"

namespace mrc::datapath
{
namespace
{

constexpr std::uint32_t depth = 1024;

class work_queues : public testing::Test
{
protected:
    test::remote_host host_{1};
    std::unique_ptr<worker_client> client_ = test::client_in_memory(1);
    test::rings_in_memory rings_{depth};
    std::unique_ptr<worker_qp> qp_ = rings_.connect(*client_, 16, host_);
};

TEST_F(work_queues, no_more_requests_are_taken_than_asked_for)
{
    rings_.post_sends(100);
    EXPECT_TRUE(has_requests(*qp_));
    EXPECT_EQ(take_requests(*qp_, 30, {}), 30U);
    EXPECT_EQ(qp_->protocol->outstanding(), 30U);
    EXPECT_EQ(take_requests(*qp_, 1000, {}), 70U);
    EXPECT_FALSE(has_requests(*qp_));
}

TEST_F(work_queues, failed_requests_are_flushed_in_order_and_by_as_many_as_asked_for)
{
    rings_.post_sends(100);
    EXPECT_EQ(take_requests(*qp_, 60, {}), 60U);
    qp_->protocol->fail(protocol::completion_status::flushed);
    EXPECT_EQ(take_requests(*qp_, 100, {}), 0U) << "the older ones come first";
    EXPECT_EQ(deliver_completions(*qp_, 50), 50U);
    EXPECT_EQ(rings_.take_completions(), 50U);
    EXPECT_FALSE(is_idle(*qp_));
    EXPECT_EQ(deliver_completions(*qp_, 50), 10U);
    EXPECT_EQ(take_requests(*qp_, 30, {}), 30U);
    EXPECT_EQ(take_requests(*qp_, 30, {}), 10U);
    EXPECT_EQ(rings_.take_completions(), 50U);
    EXPECT_TRUE(is_idle(*qp_));
}

// They all were, whatever their number, at the first packet that came.
TEST_F(work_queues, a_packet_takes_the_receive_requests_that_it_may_need)
{
    rings_.post_receives(depth);
    EXPECT_FALSE(has_requests(*qp_)) << "nothing to do until a message comes";
    EXPECT_EQ(take_receives_for_packet(*qp_), 1U);
    EXPECT_EQ(take_receives_for_packet(*qp_), 0U) << "one is there already";
    EXPECT_EQ(rings_.receives_waiting(), depth - 1);
}

// The second message arrives first, and the first one's packet completes both.
TEST_F(work_queues, a_packet_that_closes_a_gap_finds_a_receive_request_for_each_message)
{
    rings_.post_receives(2);
    protocol::data_packet data;
    data.opcode = MRC_OP_WRITE_ONLY_IMM;
    data.immediate = 7;
    for (const unsigned number : {1U, 0U}) {
        data.sequence = protocol::psn{number};
        data.rqmsn = static_cast<std::uint16_t>(number);
        take_receives_for_packet(*qp_);
        qp_->protocol->on_packet(data, {}, {.entropy = {}, .path = protocol::path_index{1}, .at = {}}, {});
    }
    EXPECT_EQ(qp_->protocol->state(), protocol::qp_state::ready_to_send);
    EXPECT_EQ(deliver_completions(*qp_, 10), 2U);
    EXPECT_EQ(rings_.receives_waiting(), 0U);
}

TEST_F(work_queues, receive_requests_of_a_failed_queue_pair_are_flushed_by_as_many_as_asked_for)
{
    rings_.post_receives(depth);
    take_receives_for_packet(*qp_);
    qp_->protocol->fail(protocol::completion_status::flushed);
    EXPECT_EQ(take_receives_for_packet(*qp_), 0U);
    EXPECT_FALSE(is_idle(*qp_));
    EXPECT_EQ(take_requests(*qp_, 100, {}), 0U) << "the older ones come first";
    EXPECT_EQ(deliver_completions(*qp_, 100), 1U);
    EXPECT_EQ(take_requests(*qp_, 100, {}), 100U);
    EXPECT_EQ(take_requests(*qp_, depth, {}), depth - 101U);
    EXPECT_EQ(rings_.take_completions(), depth);
    EXPECT_TRUE(is_idle(*qp_));
}

} // namespace
} // namespace mrc::datapath
