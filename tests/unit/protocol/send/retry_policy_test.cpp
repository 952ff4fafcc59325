// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "protocol/send/retry_policy.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

TEST(retry_policy, waits_linear_then_doubling)
{
    const retry_policy policy{{.timeout_exponent = 8, .linear = 7, .exponential = 14}};
    EXPECT_EQ(policy.shortest(), 262'144ns);
    for (unsigned failures = 0; failures < 7; ++failures)
        EXPECT_EQ(policy.level(failures), 0u);
    EXPECT_EQ(policy.level(7), 1u);
    EXPECT_EQ(policy.level(9), 3u);
    EXPECT_EQ(policy.level(200), retry_policy::max_level);
    EXPECT_EQ(policy.wait(3, 300us), 8 * 262'144ns);
    EXPECT_EQ(policy.wait(3, 20ms), 20ms) << "a late host does not multiply";
}

// The sum of all waits of one packet is the time to give up: 8.6 s for the demo's parameters.
TEST(retry_policy, gives_up_after_the_sum_of_its_waits)
{
    const retry_policy policy{{.timeout_exponent = 8, .linear = 7, .exponential = 14}};
    duration sum{0};
    for (unsigned failures = 0; failures < 7 + 14; ++failures)
        sum += policy.wait(policy.level(failures), policy.shortest());
    EXPECT_EQ(policy.gives_up_after(), sum);
    EXPECT_GT(sum, 8500ms);
    EXPECT_LT(sum, 8700ms);
    EXPECT_TRUE(policy.gives_up());
}

TEST(retry_policy, exponential_25_is_infinite)
{
    EXPECT_FALSE((retry_policy{{.timeout_exponent = 8, .linear = 7, .exponential = 25}}.gives_up()));
}

TEST(retry_policy, longest_values_do_not_overflow)
{
    const retry_policy policy{{.timeout_exponent = 24, .linear = 7, .exponential = 24}};
    EXPECT_GT(policy.gives_up_after(), 24h);
    EXPECT_LE(policy.wait(25, 17s), 24h);
}

TEST(retry_policy, without_retries_one_wait_remains)
{
    const retry_policy policy{{.timeout_exponent = 8, .linear = 0, .exponential = 0}};
    EXPECT_EQ(policy.gives_up_after(), policy.shortest());
}

} // namespace
} // namespace mrc::protocol
