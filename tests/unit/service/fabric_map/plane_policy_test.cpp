// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/plane_policy.h"

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

using namespace std::chrono_literals;
using protocol::instant;
using protocol::plane_index;
using protocol::plane_mask;

constexpr instant start{1h};
constexpr plane_mask four{0xF};
constexpr plane_mask none{};

TEST(plane_policy, leaves_a_plane_whose_link_has_been_lossy_for_a_while)
{
    plane_policy policy{1};
    policy.on_link(plane_index{2}, MRC_LINK_LOSSY, start);
    EXPECT_EQ(policy.left(four, start + plane_policy::after - 1ns), none);
    EXPECT_TRUE(policy.is_waiting());
    EXPECT_EQ(policy.left(four, start + plane_policy::after), plane_mask{0x4});
}

TEST(plane_policy, leaves_no_plane_for_anything_else)
{
    plane_policy policy{1};
    policy.on_link(plane_index{0}, MRC_LINK_DEAD, start);
    policy.on_link(plane_index{1}, MRC_LINK_SLOW, start);
    policy.on_link(plane_index{2}, MRC_LINK_GOOD, start);
    EXPECT_EQ(policy.left(four, start + 1h), none);
    EXPECT_FALSE(policy.is_waiting());
}

TEST(plane_policy, comes_back_after_its_probation_which_doubles)
{
    plane_policy policy{1};
    instant now = start;
    protocol::duration probation = plane_policy::probation;
    for (int time = 0; time < 8; ++time) {
        policy.on_link(plane_index{0}, MRC_LINK_LOSSY, now);
        now += plane_policy::after;
        ASSERT_EQ(policy.left(four, now), plane_mask{1});
        policy.on_link(plane_index{0}, MRC_LINK_GOOD, now);
        EXPECT_EQ(policy.left(four, now + probation - 1ns), plane_mask{1}) << time;
        now += probation;
        EXPECT_EQ(policy.left(four, now), none) << time;
        probation = std::min(2 * probation, plane_policy::longest);
    }
}

TEST(plane_policy, a_link_that_is_not_good_stays_left)
{
    plane_policy policy{1};
    policy.on_link(plane_index{0}, MRC_LINK_LOSSY, start);
    ASSERT_EQ(policy.left(four, start + 1s), plane_mask{1});
    policy.on_link(plane_index{0}, MRC_LINK_DEAD, start + 2s);
    EXPECT_EQ(policy.left(four, start + 1h), plane_mask{1});
}

TEST(plane_policy, never_leaves_fewer_planes_than_the_minimum)
{
    plane_policy policy{2};
    for (std::uint8_t plane = 0; plane < 4; ++plane)
        policy.on_link(plane_index{plane}, MRC_LINK_LOSSY, start);
    EXPECT_EQ(policy.left(four, start + 1s), plane_mask{0x3});
    plane_policy only{1};
    only.on_link(plane_index{0}, MRC_LINK_LOSSY, start);
    EXPECT_EQ(only.left(plane_mask{1}, start + 1h), none) << "the only plane";
}

TEST(plane_policy, comes_back_at_once_where_other_planes_are_lost)
{
    plane_policy policy{1};
    policy.on_link(plane_index{1}, MRC_LINK_LOSSY, start);
    ASSERT_EQ(policy.left(plane_mask{0x3}, start + 1s), plane_mask{0x2});
    EXPECT_EQ(policy.left(plane_mask{0x2}, start + 2s), none);
}

} // namespace
} // namespace mrc::service
