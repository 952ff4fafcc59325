// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/loop_ways.h"

#include <gtest/gtest.h>

#include "service/address.h"
#include "simulated_loops.h"

namespace mrc::service
{
namespace
{

TEST(loop_ways, lead_to_the_leaf_and_each_spine_of_each_plane_and_back)
{
    daemon_config config = test::fabric_of(2, 2);
    config.host.leaf = 1;
    config.host.downlink = 3;
    const auto ways = loop_ways_of(config);
    ASSERT_EQ(ways.size(), 6U);
    EXPECT_EQ(to_text(ways[0].carrier), "fcbb:bb00:2001:8003::");
    EXPECT_EQ(to_text(ways[1].carrier), "fcbb:bb00:2001:1000:2001:8003::");
    EXPECT_EQ(to_text(ways[5].carrier), "fcbb:bb00:2101:1101:2101:8103::");
    EXPECT_FALSE(ways[3].spine);
    EXPECT_EQ(ways[5].spine, 1U);
    EXPECT_EQ(ways[2].leaf_row, 0U);
    EXPECT_EQ(ways[4].leaf_row, 3U);
    EXPECT_EQ(ways[4].plane, protocol::plane_index{1});
}

TEST(loop_ways, that_cross_go_out_by_one_spine_and_back_by_another_over_another_leaf)
{
    daemon_config config = test::fabric_of(2, 2);
    config.host.leaf = 1;
    config.host.downlink = 3;
    EXPECT_EQ(to_text(crossing_carrier(config, protocol::plane_index{1}, {.out = 1, .leaf = 0, .back = 4})),
              "fcbb:bb00:2101:1101:2100:1104:2101:8103");
    EXPECT_EQ(all_loop_ways_of(config).size(), 6U + 2 * 3) << "behind the others, three for each plane";
    EXPECT_EQ(to_text(carrier_to(config, protocol::plane_index{1}, 1, {.leaf = 1, .downlink = 7})),
              "fcbb:bb00:2101:8107::");
    EXPECT_EQ(to_text(carrier_to(config, protocol::plane_index{1}, 1, {.leaf = 0, .downlink = 7})),
              "fcbb:bb00:2101:1101:2100:8107::");
}

TEST(loop_ways, there_are_none_in_direct_mode_and_when_switched_off)
{
    daemon_config off = test::fabric_of(2, 2);
    off.fabric_map.interval_us = 0;
    EXPECT_TRUE(loop_ways_of(off).empty());
    daemon_config direct = test::fabric_of(2, 2);
    direct.fabric.mode = fabric_mode::direct;
    EXPECT_TRUE(loop_ways_of(direct).empty());
}

} // namespace
} // namespace mrc::service
