// SPDX-License-Identifier: Apache-2.0
#include "datapath/slow_calls.h"

#include <gtest/gtest.h>

namespace mrc::datapath
{
namespace
{

using namespace std::chrono_literals;
using protocol::instant;

class slow_calls_test : public testing::Test
{
protected:
    bool call(protocol::duration took, bool waited)
    {
        now_ += took;
        return calls_.on_call(took, waited, now_);
    }

    instant now_{1h};
    slow_calls calls_;
};

TEST_F(slow_calls_test, short_calls_are_never_looked_at)
{
    for (int i = 0; i < 1000; ++i) {
        EXPECT_FALSE(calls_.suspicious(now_));
        EXPECT_FALSE(call(50us, false));
    }
}

TEST_F(slow_calls_test, a_long_call_makes_suspicious_for_a_while)
{
    EXPECT_FALSE(call(12ms, false));
    EXPECT_TRUE(calls_.suspicious(now_));
    now_ += slow_calls::period;
    EXPECT_FALSE(calls_.suspicious(now_));
}

TEST_F(slow_calls_test, a_run_of_calls_that_wait_ends_their_use)
{
    for (std::size_t i = 1; i < slow_calls::run; ++i)
        EXPECT_FALSE(call(12ms, true));
    EXPECT_TRUE(call(12ms, true));
}

TEST_F(slow_calls_test, calls_in_between_that_do_not_wait_change_nothing)
{
    for (std::size_t i = 1; i < slow_calls::run; ++i) {
        EXPECT_FALSE(call(12ms, true));
        for (int fast = 0; fast < 100; ++fast)
            EXPECT_FALSE(call(20us, false));
    }
    EXPECT_TRUE(call(12ms, true));
}

TEST_F(slow_calls_test, long_calls_that_do_not_wait_do_not_count)
{
    for (int i = 0; i < 100; ++i)
        EXPECT_FALSE(call(4ms, false)); // the processor was another's
}

TEST_F(slow_calls_test, few_slow_calls_in_a_long_time_are_no_run)
{
    for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(call(20ms, true));
        now_ += slow_calls::period;
    }
}

TEST_F(slow_calls_test, a_run_is_counted_from_its_beginning_again)
{
    for (std::size_t i = 1; i < slow_calls::run; ++i)
        EXPECT_FALSE(call(12ms, true));
    EXPECT_TRUE(call(12ms, true));
    for (std::size_t i = 1; i < slow_calls::run; ++i)
        EXPECT_FALSE(call(12ms, true));
    EXPECT_TRUE(call(12ms, true));
}

} // namespace
} // namespace mrc::datapath
