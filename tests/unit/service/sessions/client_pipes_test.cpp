// SPDX-License-Identifier: Apache-2.0
#include "service/sessions/client_pipes.h"

#include <cerrno>
#include <csignal>

#include <gtest/gtest.h>

#include "unit/service/sessions/session_in_memory.h"

namespace mrc::service
{
namespace
{

using session::event_kind;
using session::event_record;
using test::read_events;

class client_pipes : public testing::Test
{
protected:
    test::daemon_in_memory daemon_{0};
    test::session_in_memory client_{daemon_};
};

TEST_F(client_pipes, every_event_pipe_of_the_client_has_each_event)
{
    const answer second = open_events(client_.state);
    notify(client_.state, {event_kind::port_down, 2});
    for (const auto &[number, events] : client_.state.events) {
        const auto read = read_events(events.wait.get());
        ASSERT_EQ(read.size(), 1U) << number;
        EXPECT_EQ(read[0].kind, event_kind::port_down);
        EXPECT_EQ(read[0].number, 2U);
    }
    EXPECT_EQ(second.fds.size(), 1U) << "the end to read is passed to the client";
}

TEST_F(client_pipes, a_closed_event_pipe_stays_with_those_who_write_to_it)
{
    const auto writer = events_of(client_.state, client_.events);
    ASSERT_NE(writer, nullptr);
    ASSERT_NE(std::signal(SIGPIPE, SIG_IGN), SIG_ERR); // as mrcd does
    EXPECT_EQ(close_events(client_.state, client_.events).reply.error, 0);
    EXPECT_EQ(events_of(client_.state, client_.events), nullptr);
    writer->notify({event_kind::qp_fatal, 1}); // nobody reads: lost, and no harm
    EXPECT_EQ(close_events(client_.state, client_.events).reply.error, EINVAL) << "a second time";
}

TEST_F(client_pipes, event_pipes_and_channels_beyond_the_limit_are_refused)
{
    const unsigned limit = client_.state.shared.config.limits.completion_queues;
    while (client_.state.events.size() < limit)
        ASSERT_EQ(open_events(client_.state).reply.error, 0);
    EXPECT_EQ(open_events(client_.state).reply.error, ENOSPC);
    EXPECT_EQ(close_events(client_.state, client_.events).reply.error, 0);
    EXPECT_EQ(open_events(client_.state).reply.error, 0) << "one has been returned";
    while (client_.state.channels.size() < limit)
        ASSERT_EQ(create_channel(client_.state).reply.error, 0);
    EXPECT_EQ(create_channel(client_.state).reply.error, ENOMEM);
}

TEST_F(client_pipes, a_channel_in_use_is_kept)
{
    const std::uint32_t channel = create_channel(client_.state).reply.number;
    const std::uint32_t cq = client_.make_cq(16, channel);
    EXPECT_EQ(destroy_channel(client_.state, channel).reply.error, EBUSY);
    EXPECT_EQ(destroy_cq(client_.state, cq).reply.error, 0);
    EXPECT_EQ(destroy_channel(client_.state, channel).reply.error, 0);
    EXPECT_EQ(destroy_channel(client_.state, channel).reply.error, EINVAL);
}

TEST_F(client_pipes, an_ev_event_rings_the_channel_of_its_subscription)
{
    const std::uint32_t channel = create_channel(client_.state).reply.number;
    add_subscription(client_.state, 5, channel);
    add_subscription(client_.state, 6, 0); // polled without a channel
    notify_subscription(client_.state, 5);
    notify_subscription(client_.state, 6);
    notify_subscription(client_.state, 7); // unknown
    const auto read = read_events(client_.state.channels.at(channel).wait.get());
    ASSERT_EQ(read.size(), 1U);
    EXPECT_EQ(read[0].number, session::ev_event_queue_bit | 5U);
    EXPECT_EQ(destroy_channel(client_.state, channel).reply.error, 0);
    EXPECT_TRUE(client_.state.subscriptions.empty());
}

} // namespace
} // namespace mrc::service
