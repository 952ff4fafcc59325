// SPDX-License-Identifier: Apache-2.0
#include "kernel/giving_way.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace mrc::kernel
{
namespace
{

using namespace std::chrono_literals;
using protocol::instant;

instant after_yield; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): what a clock without state reads

class a_giving_way : public ::testing::Test
{
protected:
    bool gives(std::chrono::nanoseconds took)
    {
        after_yield = now + took;
        const bool given = core.try_now(now, [] { return after_yield; });
        now += given ? took : 0ns;
        return given;
    }

    giving_way core;
    instant now{1h};
};

TEST_F(a_giving_way, goes_on_while_the_core_comes_back_soon)
{
    for (int time = 0; time < 1000; ++time)
        EXPECT_TRUE(gives(249us));
}

TEST_F(a_giving_way, goes_on_where_a_time_slice_is_lost_now_and_then)
{
    for (int time = 0; time < 1000; ++time) {
        EXPECT_TRUE(gives(3ms));
        now += 300ms;
    }
}

TEST_F(a_giving_way, loses_no_more_than_a_hundredth_of_the_time)
{
    int slices = 0;
    for (const instant end = now + 100s; now < end; now += 20us)
        slices += gives(3ms) ? 1 : 0;
    EXPECT_NEAR(slices, 100 / 0.3 + 4, 3) << "of 3 ms each, and four at once";
}

TEST_F(a_giving_way, is_tried_again_after_ten_seconds_at_the_latest)
{
    EXPECT_TRUE(gives(30s));
    now += 10s - 1ns;
    EXPECT_FALSE(gives(0us));
    now += 1ns;
    EXPECT_TRUE(gives(0us));
}

TEST_F(a_giving_way, sleeps_instead_where_it_must_not_yield)
{
    const auto sleeps = [] {
        rusage used{};
        ::getrusage(RUSAGE_THREAD, &used);
        return used.ru_nvcsw;
    };
    now = monotonic_now();
    EXPECT_TRUE(gives(30s));
    const auto before = sleeps();
    for (int time = 0; time < 5; ++time)
        core.now_or_sleep();
    EXPECT_GE(sleeps(), before + 5);
}

} // namespace
} // namespace mrc::kernel
