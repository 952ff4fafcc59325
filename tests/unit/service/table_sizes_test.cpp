// SPDX-License-Identifier: Apache-2.0
#include "service/table_sizes.h"

#include <gtest/gtest.h>

#include "service/srv6_fabric.h"

namespace mrc::service
{
namespace
{

daemon_config config_of(std::uint8_t planes, std::uint32_t leaves, std::uint32_t uplinks, std::uint32_t hosts)
{
    daemon_config config;
    config.fabric.planes = planes;
    config.fabric.leaves = leaves;
    config.fabric.uplinks = uplinks;
    config.fabric.hosts_per_leaf = hosts;
    return config;
}

kernel::table_sizes sizes_of(const daemon_config &config)
{
    return table_sizes_of(config, srv6_fabric{config});
}

TEST(table_sizes, of_a_small_fabric_are_what_it_can_fill)
{
    const auto sizes = sizes_of(config_of(4, 2, 2, 2));
    EXPECT_EQ(sizes.peers, 4U * 5) << "a common address and one on each plane";
    EXPECT_EQ(sizes.paths, 1U + 16 * 4 * (1 + 2)) << "by each profile";
}

TEST(table_sizes, of_a_large_fabric_are_limited)
{
    daemon_config config = config_of(8, 512, 256, 256);
    EXPECT_EQ(sizes_of(config).peers, 4096U * 9);
    EXPECT_EQ(sizes_of(config).paths, 8192U);
    config.tables = {.peers = 131072, .paths = 131072};
    EXPECT_EQ(sizes_of(config).peers, 131072U * 9);
    EXPECT_EQ(sizes_of(config).paths, 131073U);
}

} // namespace
} // namespace mrc::service
