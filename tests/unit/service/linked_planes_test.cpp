// SPDX-License-Identifier: Apache-2.0
#include "service/linked_planes.h"

#include <vector>

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

using protocol::plane_mask;

TEST(linked_planes, of_an_srv6_fabric_are_all)
{
    linked_planes linked{0};
    linked.follow({});
    EXPECT_EQ(linked.to(0), protocol::every_plane);
    EXPECT_EQ(linked.to(700), protocol::every_plane);
}

TEST(linked_planes, of_listed_hosts_are_those_last_told_where_they_were)
{
    linked_planes linked{2};
    const plane_mask &second = linked.to(1);
    EXPECT_TRUE(second.empty()) << "nobody has answered yet";
    linked.follow(std::vector<plane_mask>{plane_mask{0b01}, plane_mask{0b11}});
    EXPECT_EQ(linked.to(0), plane_mask{0b01});
    EXPECT_EQ(second, plane_mask{0b11});
    EXPECT_EQ(linked.to(2), protocol::every_plane) << "this host itself, when it is in no list";
}

} // namespace
} // namespace mrc::service
