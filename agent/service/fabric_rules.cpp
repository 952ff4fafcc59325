// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_rules.h"

#include <algorithm>

#include "service/direct_fabric.h"
#include "service/srv6_fabric.h"

namespace mrc::service
{

std::vector<mrc_path_row> fabric_rules::paths_of(const path_group_rows &group) const
{
    std::vector<mrc_path_row> paths;
    paths.reserve(group.rows());
    for (std::uint32_t number = 0; number < group.planes; number++)
        for (std::uint32_t row = 0; row < group.uplinks; row++) {
            const protocol::plane_index plane{static_cast<std::uint8_t>(number)};
            paths.push_back(path_of(group, plane, uplink_of(group, plane, row)));
        }
    return paths;
}

std::unique_ptr<fabric_rules> make_fabric_rules(const daemon_config &config)
{
    if (config.fabric.mode == fabric_mode::direct)
        return std::make_unique<direct_fabric>(config);
    return std::make_unique<srv6_fabric>(config);
}

unsigned ev_bits_of(const daemon_config &config)
{
    constexpr unsigned of_ipv6 = 32;
    constexpr unsigned of_ipv4 = 16;
    const bool any_ipv4 = std::ranges::any_of(config.hosts, [](const host_entry &host) {
        return std::ranges::any_of(host.addresses, [](const auto &address) { return address && is_ipv4(*address); });
    });
    return config.fabric.ipv4_prefix || any_ipv4 ? of_ipv4 : of_ipv6;
}

} // namespace mrc::service
