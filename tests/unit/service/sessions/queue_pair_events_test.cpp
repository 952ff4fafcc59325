// SPDX-License-Identifier: Apache-2.0
// What the history says of a queue pair: connected, failed and why, closed; in this order, whatever comes at once.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "unit/service/sessions/session_in_memory.h"

namespace mrc::service
{
namespace
{

using protocol::completion_status;
using protocol::qp_state;

class queue_pair_events : public testing::Test
{
protected:
    void SetUp() override
    {
        ASSERT_EQ(here_.modify(number_, qp_state::init), 0);
        ASSERT_EQ(here_.modify(number_, qp_state::ready_to_receive, &there_, 77), 0);
    }
    void fail(completion_status status)
    {
        datapath::worker &worker = a_.worker();
        datapath::worker_qp &qp = *worker.find_qp(protocol::qpn{number_});
        qp.protocol->fail(status);
        worker.activate(qp);
    }
    [[nodiscard]] std::vector<std::pair<mrc_event_kind, mrc_event_reason>> told() const
    {
        std::vector<std::pair<mrc_event_kind, mrc_event_reason>> all;
        for (const mrc_event_row &event : a_.events())
            if (event.qpn == number_)
                all.emplace_back(event.kind, event.reason);
        return all;
    }
    using story = std::vector<std::pair<mrc_event_kind, mrc_event_reason>>;

    test::daemon_in_memory a_{0};
    test::daemon_in_memory b_{1};
    test::session_in_memory here_{a_, 3};
    test::session_in_memory there_{b_};
    std::uint32_t number_ = here_.make_qp();
};

TEST_F(queue_pair_events, one_that_is_connected_is_named_with_its_peer_and_session)
{
    ASSERT_EQ(told(), (story{{MRC_EVENT_QP_CONNECTED, MRC_REASON_NONE}}));
    const mrc_event_row &event = a_.events().back();
    EXPECT_EQ(event.peer_qpn, 77U);
    EXPECT_EQ(event.session, 3U);
    const mrc_ip peer = b_.address();
    EXPECT_TRUE(std::ranges::equal(event.peer.bytes, peer.bytes));
}

TEST_F(queue_pair_events, a_failure_is_told_once_with_its_reason)
{
    fail(completion_status::retry_exceeded);
    a_.worker().round();
    a_.worker().round();
    a_.take_notes();
    EXPECT_EQ(told(), (story{{MRC_EVENT_QP_CONNECTED, MRC_REASON_NONE}, {MRC_EVENT_QP_ERROR, MRC_REASON_RETRIES}}));
}

TEST_F(queue_pair_events, every_failure_has_a_reason_of_its_own)
{
    const std::pair<completion_status, mrc_event_reason> reasons[] = {
        {completion_status::remote_access_error, MRC_REASON_REMOTE_ACCESS},
        {completion_status::remote_operation_error, MRC_REASON_REMOTE_OPERATION},
        {completion_status::remote_invalid_request, MRC_REASON_REMOTE_INVALID},
        {completion_status::local_protection_error, MRC_REASON_LOCAL_PROTECTION},
        {completion_status::flushed, MRC_REASON_CLIENT}};
    for (const auto &[status, reason] : reasons) {
        fail(status);
        a_.worker().round();
        a_.take_notes();
        EXPECT_EQ(told().back(), (std::pair{MRC_EVENT_QP_ERROR, reason}));
        ASSERT_EQ(here_.modify(number_, qp_state::reset), 0);
        ASSERT_EQ(here_.modify(number_, qp_state::init), 0);
        ASSERT_EQ(here_.modify(number_, qp_state::ready_to_receive, &there_, 77), 0);
    }
}

TEST_F(queue_pair_events, one_that_failed_and_is_destroyed_at_once_tells_both_in_order)
{
    fail(completion_status::retry_exceeded);
    ASSERT_EQ(destroy_qp(here_.state, number_).reply.error, 0);
    EXPECT_EQ(told(), (story{{MRC_EVENT_QP_CONNECTED, MRC_REASON_NONE},
                             {MRC_EVENT_QP_ERROR, MRC_REASON_RETRIES},
                             {MRC_EVENT_QP_CLOSED, MRC_REASON_CLIENT}}));
}

TEST_F(queue_pair_events, one_is_closed_by_a_reset_and_by_the_end_of_its_session)
{
    ASSERT_EQ(here_.modify(number_, qp_state::reset), 0);
    EXPECT_EQ(told().back(), (std::pair{MRC_EVENT_QP_CLOSED, MRC_REASON_RESET}));
    ASSERT_EQ(here_.modify(number_, qp_state::init), 0);
    ASSERT_EQ(here_.modify(number_, qp_state::ready_to_receive, &there_, 77), 0);
    release_qps(here_.state);
    EXPECT_EQ(told().back(), (std::pair{MRC_EVENT_QP_CLOSED, MRC_REASON_SESSION_END}));
}

TEST_F(queue_pair_events, one_that_was_never_connected_is_no_event)
{
    const std::uint32_t other = here_.make_qp();
    ASSERT_EQ(destroy_qp(here_.state, other).reply.error, 0);
    EXPECT_EQ(told().size(), 1U);
    EXPECT_TRUE(std::ranges::none_of(a_.events(), [=](const mrc_event_row &event) { return event.qpn == other; }));
}

} // namespace
} // namespace mrc::service
