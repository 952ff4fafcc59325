// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/loop_ways.h"

#include "service/usid_plan.h"

namespace mrc::service
{

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
