// SPDX-License-Identifier: Apache-2.0
#include "datapath/transmit_costs.h"

#include <gtest/gtest.h>

namespace mrc::datapath
{
namespace
{

constexpr port_costs costs{.live = {.call_ns = 6000, .frame_ns = 300}, .rings = {.call_ns = 300, .frame_ns = 900}};

std::array<port_costs, MRC_MAX_PORTS> all_ports(const port_costs &of)
{
    std::array<port_costs, MRC_MAX_PORTS> ports{};
    ports.fill(of);
    return ports;
}

// Packets of `ports` ports in turns for which a burst still goes by the rings.
std::uint32_t most_by_rings(const port_costs &of, std::uint32_t ports, std::uint32_t bytes = 64)
{
    burst_costs burst{all_ports(of)};
    std::uint32_t packets = 0;
    for (; packets < 256; ++packets) {
        burst.add(packets % ports, bytes);
        if (!burst.rings_are_cheaper())
            break;
    }
    return packets;
}

TEST(transmit_costs, one_port_crosses_where_the_rings_cost_half)
{
    EXPECT_EQ(costs.crossing(64), 3U); // 2 * (300 + 3 * 900) = 6000 against 6000 + 3 * 300 = 6900
    EXPECT_EQ(most_by_rings(costs, 1), 3U);
}

TEST(transmit_costs, several_ports_take_a_call_each)
{
    EXPECT_EQ(most_by_rings(costs, 4), 2U); // 2 * (2 * 300 + 2 * 900) against 6000 + 2 * 300
}

TEST(transmit_costs, long_packets_cross_earlier)
{
    port_costs copying = costs;
    copying.rings.kilobyte_ns = 200;
    EXPECT_EQ(most_by_rings(copying, 1, 3072), 2U); // 2 * (300 + 2 * 1500) = 6600 against 6000 + 2 * 300
}

TEST(transmit_costs, rings_that_are_always_cheaper_take_everything)
{
    EXPECT_EQ((port_costs{.live = costs.live, .rings = {.call_ns = 100, .frame_ns = 100}}.crossing(64)), 64U);
}

TEST(transmit_costs, rings_that_never_are_take_nothing)
{
    EXPECT_EQ((port_costs{.live = costs.live, .rings = {.call_ns = 9000, .frame_ns = 900}}.crossing(64)), 0U);
}

TEST(transmit_costs, a_given_number_holds_for_the_burst_whatever_its_ports)
{
    for (const std::uint32_t packets : {0U, 1U, 7U}) {
        EXPECT_EQ(most_by_rings(rings_up_to(packets), 1), packets);
        EXPECT_EQ(most_by_rings(rings_up_to(packets), 4), packets);
        EXPECT_EQ(rings_up_to(packets).crossing(64), packets);
    }
}

TEST(transmit_costs, a_burst_that_has_left_counts_no_more)
{
    burst_costs burst{all_ports(costs)};
    for (int i = 0; i < 20; ++i)
        burst.add(2, 64);
    EXPECT_FALSE(burst.rings_are_cheaper());
    EXPECT_EQ(burst.packets(2), 20U);
    burst.clear();
    burst.add(1, 64);
    EXPECT_TRUE(burst.rings_are_cheaper());
    EXPECT_EQ(burst.packets(2), 0U);
    EXPECT_EQ(burst.packets(1), 1U);
}

} // namespace
} // namespace mrc::datapath
