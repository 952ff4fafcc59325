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
    EXPECT_TRUE(overload.follow(6));
    EXPECT_EQ(overload.penalty(), 2U) << "for queue pairs that are made meanwhile, too";
    EXPECT_TRUE(overload.follow(6));
    EXPECT_EQ(overload.penalty(), 0U);
}

TEST(receive_overload, halves_what_is_offered_at_once_and_gives_it_back_little_by_little)
{
    receive_overload overload;
    EXPECT_EQ(overload.share(), protocol::whole_window);
    for (std::uint64_t dropped = 1; dropped <= 10; ++dropped) {
        (void)overload.follow(dropped);
        EXPECT_EQ(overload.share(), std::max(protocol::whole_window >> dropped, 1U));
    }
    for (unsigned share = 2; share <= protocol::whole_window; ++share) {
        EXPECT_TRUE(overload.follow(10));
        EXPECT_EQ(overload.share(), share);
    }
    EXPECT_TRUE(overload.follow(10)) << "restore_cwnd ends";
    EXPECT_FALSE(overload.follow(10));
}

TEST(receive_overload, a_socket_that_goes_with_its_drops_is_none)
{
    receive_overload overload;
    (void)overload.follow(5);
    (void)overload.follow(5);
    (void)overload.follow(0);
    EXPECT_EQ(overload.penalty(), 0U);
    (void)overload.follow(1);
    EXPECT_EQ(overload.penalty(), 2U);
}

} // namespace
} // namespace mrc::datapath
