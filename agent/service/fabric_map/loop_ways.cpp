// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/loop_ways.h"

#include <initializer_list>

#include "service/fabric_map/direction_finder.h"
#include "service/usid_plan.h"

namespace mrc::service
{

namespace
{

constexpr std::size_t crossing_usids = 6;

} // namespace

bool has_room_to_cross(const daemon_config &config)
{
    return usid_plan{config.fabric.usids}.block_bytes() + crossing_usids * sizeof(std::uint16_t) <=
           sizeof(mrc_ip::bytes);
}

mrc_ip carrier_to(const daemon_config &config, protocol::plane_index plane, std::uint32_t spine, host_place to)
{
    const usid_plan usids{config.fabric.usids};
    const std::uint16_t leaf = usids.leaf(plane, config.host.leaf);
    const std::uint16_t host = usids.host(plane, to.downlink);
    if (to.leaf == config.host.leaf)
        return usids.carrier({leaf, host});
    return usids.carrier({leaf, usids.spine(plane, spine), usids.leaf(plane, to.leaf), host});
}

mrc_ip crossing_carrier(const daemon_config &config, protocol::plane_index plane, const crossing_way &way)
{
    const usid_plan usids{config.fabric.usids};
    const std::uint16_t leaf = usids.leaf(plane, config.host.leaf);
    return usids.carrier({leaf, usids.spine(plane, way.out), usids.leaf(plane, way.leaf), usids.spine(plane, way.back),
                          leaf, usids.host(plane, config.host.downlink)});
}

std::vector<loop_way> all_loop_ways_of(const daemon_config &config)
{
    std::vector<loop_way> ways = loop_ways_of(config);
    if (!has_room_to_cross(config))
        return ways;
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
    const usid_plan usids{config.fabric.usids};
    for (const port_options &port : config.ports) {
        const std::uint16_t leaf = usids.leaf(port.plane, config.host.leaf);
        const std::uint16_t host = usids.host(port.plane, config.host.downlink);
        const auto leaf_row = static_cast<std::uint32_t>(ways.size());
        ways.push_back(
            {.plane = port.plane, .spine = std::nullopt, .leaf_row = leaf_row, .carrier = usids.carrier({leaf, host})});
        for (std::uint32_t spine = 0; spine < config.fabric.uplinks; ++spine)
            ways.push_back({.plane = port.plane,
                            .spine = spine,
                            .leaf_row = leaf_row,
                            .carrier = usids.carrier({leaf, usids.spine(port.plane, spine), leaf, host})});
    }
    return ways;
}

} // namespace mrc::service
