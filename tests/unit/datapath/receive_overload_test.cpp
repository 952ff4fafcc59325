// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "datapath/receive_overload.h"

namespace mrc::datapath
{
namespace
{

TEST(receive_overload, stands_until_a_look_finds_no_new_drops)
{
    receive_overload overload;
    EXPECT_FALSE(overload.follow(0));
    EXPECT_TRUE(overload.follow(5));
    EXPECT_EQ(overload.penalty(), 2U);
    EXPECT_FALSE(overload.follow(6));
    EXPECT_EQ(overload.penalty(), 2U) << "for queue pairs that are made meanwhile, too";
    EXPECT_TRUE(overload.follow(6));
    EXPECT_EQ(overload.penalty(), 0U);
}

} // namespace
} // namespace mrc::datapath
