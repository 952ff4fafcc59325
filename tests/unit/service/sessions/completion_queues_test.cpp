// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/completion_queues.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "unit/service/sessions/session_in_memory.h"

namespace mrc::service
{
namespace
{

class completion_queues : public testing::Test
{
protected:
    answer create(std::uint32_t entries, std::uint32_t channel = 0)
    {
        return create_cq(client_.state,
                         {.entries = entries, .channel = channel, .events = client_.events, .reserved = 0});
    }

    test::daemon_in_memory daemon_{0};
    test::session_in_memory client_{daemon_};
    limit_options limits_ = client_.state.shared.config.limits;
};

TEST_F(completion_queues, have_the_next_power_of_two_of_entries_which_the_client_can_map)
{
    const answer made = create(33);
    ASSERT_EQ(made.reply.error, 0);
    EXPECT_EQ(made.reply.cq.entries, 64U);
    ASSERT_EQ(made.fds.size(), 1U);
    const std::size_t bytes = session::completion_layout{64}.bytes();
    EXPECT_TRUE(map_whole(kernel::unique_fd{::dup(made.fds[0])}, bytes));
    EXPECT_EQ(::ftruncate(made.fds[0], 1), -1) << "and cannot shrink under the worker";
}

TEST_F(completion_queues, sizes_and_numbers_that_do_not_exist_are_refused)
{
    EXPECT_EQ(create(0).reply.error, EINVAL);
    EXPECT_EQ(create(limits_.completion_entries + 1).reply.error, EINVAL);
    EXPECT_EQ(create(8, 777).reply.error, EINVAL) << "no such channel";
    EXPECT_EQ(create_cq(client_.state, {.entries = 8, .channel = 0, .events = 777, .reserved = 0}).reply.error, EINVAL)
        << "no such event pipe";
    EXPECT_EQ(client_.held(resource::completion_queues), 0U);
    EXPECT_EQ(client_.held(resource::completion_entries), 0U);
}

TEST_F(completion_queues, queues_and_their_entries_are_limited)
{
    const std::uint32_t most = limits_.completion_entries;
    while (client_.held(resource::completion_entries) + most <= limits_.total_entries)
        ASSERT_EQ(create(most).reply.error, 0);
    EXPECT_EQ(create(most).reply.error, ENOMEM) << "entries";
    EXPECT_EQ(destroy_cq(client_.state, client_.state.cqs.begin()->first).reply.error, 0);
    while (client_.state.cqs.size() < limits_.completion_queues)
        ASSERT_EQ(create(1).reply.error, 0);
    EXPECT_EQ(create(1).reply.error, ENOMEM) << "queues";
}

TEST_F(completion_queues, one_in_use_by_a_queue_pair_is_kept)
{
    const std::uint32_t cq = create(16).reply.cq.number;
    const std::uint32_t qpn = create_qp(client_.state, client_.qp_request(client_.make_pd(), cq)).reply.qp.qpn;
    EXPECT_EQ(destroy_cq(client_.state, cq).reply.error, EBUSY);
    EXPECT_EQ(destroy_qp(client_.state, qpn).reply.error, 0);
    EXPECT_EQ(destroy_cq(client_.state, cq).reply.error, 0);
    EXPECT_EQ(destroy_cq(client_.state, cq).reply.error, EINVAL) << "a second time";
}

} // namespace
} // namespace mrc::service
