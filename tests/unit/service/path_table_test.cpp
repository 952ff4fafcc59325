// SPDX-License-Identifier: Apache-2.0
#include "service/path_table.h"

#include <gtest/gtest.h>

#include "service/srv6_fabric.h"

namespace mrc::service
{
namespace
{

daemon_config config_of(std::uint8_t planes, std::uint32_t leaves, std::uint32_t uplinks, std::uint32_t own_leaf)
{
    daemon_config config;
    config.fabric.planes = planes;
    config.fabric.leaves = leaves;
    config.fabric.uplinks = uplinks;
    config.host.leaf = own_leaf;
    return config;
}

class path_rows : public testing::Test
{
protected:
    srv6_fabric lab{config_of(4, 2, 2, 0)};
    srv6_fabric cluster{config_of(8, 512, 256, 300)};
};

TEST_F(path_rows, rows_on_first_use)
{
    path_table table{lab, 100};
    const auto remote = table.group_of({.leaf = 1}, lab.uplinks_to(1));
    ASSERT_TRUE(remote);
    EXPECT_EQ(remote->base, 1U);
    EXPECT_EQ(remote->rows(), 8U);
    const auto own = table.group_of({.leaf = 0}, lab.uplinks_to(0));
    ASSERT_TRUE(own);
    EXPECT_EQ(own->base, 9U);
    EXPECT_EQ(own->uplinks, 1U);
    EXPECT_EQ(own->rows(), 4U);
    EXPECT_EQ(table.group_of({.leaf = 1}, 1)->rows(), 8U) << "it has them already";
    EXPECT_EQ(table.groups().size(), 2U);
    EXPECT_EQ(table.group_of({.leaf = 2}, 1).error(), path_table::refusal::no_such_leaf);
}

TEST_F(path_rows, refuses_what_does_not_fit)
{
    path_table table{cluster, 8192}; // 8 * 256 rows per leaf, of 8191
    for (std::uint32_t leaf = 0; leaf < 3; leaf++)
        ASSERT_TRUE(table.group_of({.leaf = leaf}, 256));
    EXPECT_EQ(table.group_of({.leaf = 3}, 256).error(), path_table::refusal::full);
    EXPECT_EQ(table.group_of({.leaf = 300}, 1)->base, 1U + 3 * 2048) << "the own leaf needs 8 rows only";
    EXPECT_EQ(table.group_of({.leaf = 2}, 256)->base, 1U + 2 * 2048);

    path_table exact{lab, 9};
    EXPECT_TRUE(exact.group_of({.leaf = 1}, 2)) << "row 0 and 8 rows";
    path_table tight{lab, 8};
    EXPECT_EQ(tight.group_of({.leaf = 1}, 2).error(), path_table::refusal::full);
}

TEST_F(path_rows, are_others_when_they_have_rested)
{
    path_table table{lab, 1 + 8 + 8};
    ASSERT_EQ(table.group_of({.leaf = 1}, 2)->base, 1U);
    ASSERT_EQ(table.group_of({.leaf = 1, .profile = 7}, 2)->base, 9U);
    EXPECT_EQ(table.group_of({.leaf = 1, .profile = 8}, 2).error(), path_table::refusal::full);
    table.release({.leaf = 1, .profile = 7});
    EXPECT_TRUE(table.any_resting());
    EXPECT_EQ(table.group_of({.leaf = 1, .profile = 8}, 2).error(), path_table::refusal::full)
        << "somebody may still name them";
    table.recycle();
    EXPECT_FALSE(table.any_resting());
    EXPECT_EQ(table.group_of({.leaf = 0}, 1)->base, 9U) << "groups of any size";
    EXPECT_EQ(table.group_of({.leaf = 1, .profile = 8}, 1)->base, 13U);
    EXPECT_EQ(table.groups().size(), 3U);
}

} // namespace
} // namespace mrc::service
