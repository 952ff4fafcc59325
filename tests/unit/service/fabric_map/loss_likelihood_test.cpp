// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/loss_likelihood.h"

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

TEST(loss_likelihood, is_no_evidence_where_no_more_was_lost)
{
    EXPECT_EQ(ratio_beyond({.sent = 1000, .lost = 10}, 0.01), 0);
    EXPECT_EQ(ratio_beyond({}, 0.01), 0);
    EXPECT_EQ(ratio_above({.sent = 100, .lost = 1}, {.sent = 100, .lost = 1}), 0);
}

// By hand: 2 (8 ln 5 + 152 ln (0.95 / 0.99)), and 2 (10 ln 0.1 + 90 ln 0.9 - 10 ln 0.05 - 90 ln 0.95 - 100 ln 0.95).
TEST(loss_likelihood, is_twice_the_logarithm_of_the_ratio)
{
    EXPECT_NEAR(ratio_beyond({.sent = 160, .lost = 8}, 0.01), 13.21, 0.01);
    EXPECT_NEAR(ratio_above({.sent = 100, .lost = 10}, {.sent = 100, .lost = 0}), 14.39, 0.01);
}

TEST(loss_likelihood, takes_everything_lost_as_it_is)
{
    EXPECT_GT(ratio_beyond({.sent = 10, .lost = 10}, 0.01), once_in_a_thousand);
    EXPECT_GT(ratio_above({.sent = 10, .lost = 10}, {.sent = 10, .lost = 0}), once_in_a_thousand);
}

// Wilson's formula by hand, with z = 2.576.
TEST(loss_likelihood, has_an_interval)
{
    const loss_interval five = interval_of({.sent = 200, .lost = 10});
    EXPECT_NEAR(five.low, 0.0228, 0.0005);
    EXPECT_NEAR(five.high, 0.1061, 0.0005);
    const loss_interval none = interval_of({.sent = 200, .lost = 0});
    EXPECT_EQ(none.low, 0);
    EXPECT_NEAR(none.high, 0.0321, 0.0005);
    EXPECT_EQ(interval_of({}).high, 1);
}

} // namespace
} // namespace mrc::service
