// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "protocol/send/rtt_estimator.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

TEST(rtt_estimator, first_sample_sets_smoothed_and_half_as_variation)
{
    rtt_estimator rtt;
    EXPECT_FALSE(rtt.has_sample());
    EXPECT_EQ(rtt.timeout(262us), 4ms) << "nothing is known yet";
    rtt.on_sample(100us);
    EXPECT_EQ(rtt.smoothed(), 100us);
    EXPECT_EQ(rtt.variation(), 50us);
    EXPECT_EQ(rtt.timeout(262us), 300us);
}

TEST(rtt_estimator, follows_rfc_6298_gains)
{
    rtt_estimator rtt;
    rtt.on_sample(100us);
    rtt.on_sample(180us);
    EXPECT_EQ(rtt.variation(), 57'500ns);
    EXPECT_EQ(rtt.smoothed(), 110us);
    EXPECT_EQ(rtt.minimum(), 100us);
}

TEST(rtt_estimator, timeout_is_never_below_T)
{
    rtt_estimator rtt;
    for (int i = 0; i < 100; ++i)
        rtt.on_sample(20us);
    EXPECT_EQ(rtt.timeout(262us), 262us);
    EXPECT_LT(rtt.timeout(1us), 25us);
}

} // namespace
} // namespace mrc::protocol
