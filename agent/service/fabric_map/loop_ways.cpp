// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/loop_ways.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "service/fabric_map/direction_finder.h"
#include "service/srv6_fabric.h"

namespace mrc::service
{

namespace
{

mrc_ip carrier_of(const mrc_ip &block, std::initializer_list<std::uint16_t> usids)
{
    mrc_carrier carrier{};
    std::copy_n(std::begin(block.bytes), MRC_USID_BLOCK_BYTES, std::begin(carrier.bytes));
    unsigned place = 0;
    for (const std::uint16_t usid : usids)
        mrc_usid_set(&carrier, place++, usid);
    mrc_ip address{};
    std::ranges::copy(carrier.bytes, std::begin(address.bytes));
    return address;
}

} // namespace

mrc_ip carrier_to(const daemon_config &config, protocol::plane_index plane, std::uint32_t spine, host_place to)
{
    const mrc_ip &block = config.fabric.usid_block.address;
    const std::uint16_t leaf = srv6_fabric::leaf_usid(plane, config.host.leaf);
    const std::uint16_t host = srv6_fabric::downlink_usid(to, plane);
    if (to.leaf == config.host.leaf)
        return carrier_of(block, {leaf, host});
    return carrier_of(block,
                      {leaf, srv6_fabric::spine_usid(plane, spine), srv6_fabric::leaf_usid(plane, to.leaf), host});
}

mrc_ip crossing_carrier(const daemon_config &config, protocol::plane_index plane, const crossing_way &way)
{
    const host_place self{.leaf = config.host.leaf, .downlink = config.host.downlink};
    const std::uint16_t leaf = srv6_fabric::leaf_usid(plane, self.leaf);
    return carrier_of(config.fabric.usid_block.address,
                      {leaf, srv6_fabric::spine_usid(plane, way.out), srv6_fabric::leaf_usid(plane, way.leaf),
                       srv6_fabric::spine_usid(plane, way.back), leaf, srv6_fabric::downlink_usid(self, plane)});
}

std::vector<loop_way> all_loop_ways_of(const daemon_config &config)
{
    std::vector<loop_way> ways = loop_ways_of(config);
    const std::size_t judged = ways.size();
    for (std::uint32_t row = 0; row < judged; ++row)
        if (ways[row].leaf_row == row)
            ways.insert(ways.end(), direction_finder::loops, loop_way{ways[row]});
    return ways;
}

std::vector<loop_way> loop_ways_of(const daemon_config &config)
{
    std::vector<loop_way> ways;
    if (config.fabric.mode != fabric_mode::srv6 || config.fabric_map.interval_us == 0)
        return ways;
    const host_place self{.leaf = config.host.leaf, .downlink = config.host.downlink};
    for (const port_options &port : config.ports) {
        const std::uint16_t leaf = srv6_fabric::leaf_usid(port.plane, self.leaf);
        const std::uint16_t host = srv6_fabric::downlink_usid(self, port.plane);
        const mrc_ip &block = config.fabric.usid_block.address;
        const auto leaf_row = static_cast<std::uint32_t>(ways.size());
        ways.push_back({.plane = port.plane,
                        .spine = std::nullopt,
                        .leaf_row = leaf_row,
                        .carrier = carrier_of(block, {leaf, host})});
        for (std::uint32_t spine = 0; spine < config.fabric.uplinks; ++spine)
            ways.push_back(
                {.plane = port.plane,
                 .spine = spine,
                 .leaf_row = leaf_row,
                 .carrier = carrier_of(block, {leaf, srv6_fabric::spine_usid(port.plane, spine), leaf, host})});
    }
    return ways;
}

} // namespace mrc::service
