// SPDX-License-Identifier: Apache-2.0
#include "protocol/rate_limit.h"

#include <gtest/gtest.h>

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

TEST(rate_limit, a_full_bucket_then_the_rate)
{
    rate_limit limit{10ms, 4};
    instant now{1s};
    for (int i = 0; i < 4; ++i)
        EXPECT_TRUE(limit.take(now));
    EXPECT_FALSE(limit.take(now));
    EXPECT_EQ(limit.next(), now + 10ms);
    EXPECT_FALSE(limit.take(now + 10ms - 1ns));
    EXPECT_TRUE(limit.take(now + 10ms));
    EXPECT_FALSE(limit.take(now + 10ms));
    EXPECT_TRUE(limit.take(now + 20ms));
}

TEST(rate_limit, holds_no_more_than_a_burst)
{
    rate_limit limit{10ms, 4};
    instant now{1s};
    EXPECT_TRUE(limit.take(now));
    now += 1h;
    int taken = 0;
    while (limit.take(now))
        ++taken;
    EXPECT_EQ(taken, 4);
}

} // namespace
} // namespace mrc::protocol
