// SPDX-License-Identifier: Apache-2.0
#include "session/ev_event_queue.h"

#include <gtest/gtest.h>

namespace mrc::service::control
{
namespace
{

session::ev_event event(std::uint64_t profile)
{
    return {.profile = profile, .ev = {}, .state = 1};
}

TEST(ev_event_queue, keeps_order)
{
    session::ev_event_queue queue{4};
    EXPECT_FALSE(queue.pop());
    for (const std::uint64_t number : {1U, 2U, 3U})
        EXPECT_TRUE(queue.push(event(number)));
    EXPECT_EQ(queue.size(), 3U);
    for (const std::uint64_t number : {1U, 2U, 3U})
        EXPECT_EQ(queue.pop()->profile, number);
    EXPECT_FALSE(queue.pop());
}

TEST(ev_event_queue, counts_drops_exactly_where_they_happened)
{
    session::ev_event_queue queue{2};
    EXPECT_TRUE(queue.push(event(1)));
    EXPECT_TRUE(queue.push(event(2)));
    for (const std::uint64_t number : {3U, 4U, 5U})
        EXPECT_FALSE(queue.push(event(number)));
    EXPECT_EQ(queue.pop()->drop_count, 0U);
    EXPECT_TRUE(queue.push(event(6)));
    EXPECT_FALSE(queue.push(event(7)));
    EXPECT_EQ(queue.pop()->drop_count, 0U); // 2 came before the drops
    const auto sixth = queue.pop();
    EXPECT_EQ(sixth->profile, 6U);
    EXPECT_EQ(sixth->drop_count, 3U); // 3, 4, 5
    EXPECT_TRUE(queue.push(event(8)));
    EXPECT_EQ(queue.pop()->drop_count, 1U); // 7
    EXPECT_TRUE(queue.push(event(9)));
    EXPECT_EQ(queue.pop()->drop_count, 0U);
}

TEST(ev_event_queue, without_room_everything_is_dropped)
{
    session::ev_event_queue queue{0};
    EXPECT_FALSE(queue.push(event(1)));
    EXPECT_FALSE(queue.pop());
}

} // namespace
} // namespace mrc::service::control
