// SPDX-License-Identifier: Apache-2.0
// What follows from several options, and what must hold between them.
#include "service/config/options.h"

#include <algorithm>
#include <array>
#include <utility>

#include "service/config/profiles.h"
#include "service/fabric_rules.h"
#include <fmt/format.h>

namespace mrc::service
{

namespace
{

using check_result = std::optional<config_error>;

std::string port_key(std::size_t row, std::string_view key)
{
    return fmt::format("{}[{}].{}", "port", row, key);
}

check_result check_place_in_fabric(const daemon_config &config)
{
    if (config.host.leaf >= config.fabric.leaves)
        return config.origin.error_at("host.leaf",
                                      fmt::format("found {}, allowed is 0 to {}, as fabric.leaves is {}",
                                                  config.host.leaf, config.fabric.leaves - 1, config.fabric.leaves));
    if (config.host.downlink >= config.fabric.hosts_per_leaf)
        return config.origin.error_at("host.downlink",
                                      fmt::format("found {}, allowed is 0 to {}, as fabric.hosts_per_leaf is {}",
                                                  config.host.downlink, config.fabric.hosts_per_leaf - 1,
                                                  config.fabric.hosts_per_leaf));
    return std::nullopt;
}

bool overlap(const ip_prefix &a, const ip_prefix &b)
{
    for (unsigned bit = 0; bit < std::min(a.length, b.length); bit++)
        if (mrc_bit_get(a.address.bytes, bit) != mrc_bit_get(b.address.bytes, bit))
            return false;
    return true;
}

check_result check_prefixes(const daemon_config &config)
{
    if (overlap(config.fabric.usid_block, config.fabric.address_prefix))
        return config.origin.error_at(
            "fabric.address_prefix",
            fmt::format("found {}, which overlaps fabric.usid_block {}; allowed are disjoint prefixes",
                        to_text(config.fabric.address_prefix), to_text(config.fabric.usid_block)));
    return std::nullopt;
}

// Leaf and downlink stand behind the prefix.
check_result check_ipv4_prefix(const daemon_config &config)
{
    constexpr unsigned address_bits = 32;
    const auto &prefix = config.fabric.ipv4_prefix;
    if (!prefix)
        return std::nullopt;
    const unsigned room = 128U - prefix->length;
    const unsigned needed = fabric_rules::ipv4_host_bits(config.fabric);
    if (room < needed)
        return config.origin.error_at(
            "fabric.ipv4_prefix",
            fmt::format("found {}, allowed is a length of at most {}, as fabric.leaves is {} and "
                        "fabric.hosts_per_leaf is {}",
                        to_text(*prefix), address_bits - needed, config.fabric.leaves, config.fabric.hosts_per_leaf));
    return std::nullopt;
}

check_result check_address(const daemon_config &config)
{
    const auto by_rule = fabric_rules{config}.address_of({.leaf = config.host.leaf, .downlink = config.host.downlink});
    if (!is_same(config.host.address, by_rule))
        return config.origin.error_at("host.address",
                                      fmt::format("found {}, allowed is {}, which leaf {} and downlink {} give",
                                                  to_text(config.host.address), to_text(by_rule), config.host.leaf,
                                                  config.host.downlink));
    return std::nullopt;
}

check_result check_ports(const daemon_config &config)
{
    for (std::size_t row = 0; row < config.ports.size(); row++) {
        const auto &port = config.ports[row];
        if (port.plane.value >= config.fabric.planes)
            return config.origin.error_at(
                port_key(row, "plane"), fmt::format("found {}, allowed is 0 to {}, as fabric.planes is {}",
                                                    port.plane.value, config.fabric.planes - 1, config.fabric.planes));
        for (std::size_t other = 0; other < row; other++) {
            if (config.ports[other].plane == port.plane)
                return config.origin.error_at(
                    port_key(row, "plane"), fmt::format("found {}, which {} has already; allowed is one port per plane",
                                                        port.plane.value, port_key(other, "plane")));
            if (config.ports[other].device == port.device)
                return config.origin.error_at(
                    port_key(row, "device"),
                    fmt::format("found \"{}\", which {} has already; allowed is one port per device", port.device,
                                port_key(other, "device")));
        }
    }
    return std::nullopt;
}

// A packet's code point says whether it was trimmed, so the two for trimmed packets must be nobody else's.
check_result check_dscps(const daemon_config &config)
{
    const auto &dscp = config.wire.dscp;
    const std::array<std::pair<std::string_view, std::uint8_t>, 6> all = {{{"trimmed", dscp.trimmed},
                                                                           {"trimmed_lasthop", dscp.trimmed_lasthop},
                                                                           {"control", dscp.control},
                                                                           {"trimmable", dscp.trimmable},
                                                                           {"retx", dscp.retx},
                                                                           {"no_trim", dscp.no_trim}}};
    constexpr std::size_t exclusive = 3; // control is never trimmed: nothing that may be trimmed shares it
    for (std::size_t i = 0; i < exclusive; i++)
        for (std::size_t j = i + 1; j < all.size(); j++)
            if (all.at(i).second == all.at(j).second)
                return config.origin.error_at(
                    fmt::format("wire.dscp_{}", all.at(i).first),
                    fmt::format("found {}, the same as wire.dscp_{}; allowed is a code point of its own",
                                all.at(i).second, all.at(j).first));
    return std::nullopt;
}

check_result check_active_paths(const daemon_config &config)
{
    if (config.transport.min_active > config.transport.active_paths_per_plane)
        return config.origin.error_at(
            "transport.min_active",
            fmt::format("found {}, allowed is 1 to {}, as transport.active_paths_per_plane is {}",
                        config.transport.min_active, config.transport.active_paths_per_plane,
                        config.transport.active_paths_per_plane));
    return std::nullopt;
}

void fill_in(daemon_config &config)
{
    if (!config.origin.has("daemon.socket"))
        config.daemon.socket = fmt::format("/run/mrc/{}/mrcd.sock", config.daemon.instance);
    if (!config.origin.has("daemon.pin_dir"))
        config.daemon.pin_dir = fmt::format("/sys/fs/bpf/mrc/{}", config.daemon.instance);
    if (!config.origin.has("daemon.state_dir"))
        config.daemon.state_dir = fmt::format("/var/lib/mrc/{}", config.daemon.instance);
    if (!config.origin.has("host.address"))
        config.host.address =
            fabric_rules{config}.address_of({.leaf = config.host.leaf, .downlink = config.host.downlink});
}

} // namespace

std::expected<void, config_error> complete_config(daemon_config &config)
{
    fill_in(config);
    for (const auto check : {check_place_in_fabric, check_prefixes, check_ipv4_prefix, check_address, check_ports,
                             check_dscps, check_active_paths})
        if (auto error = check(config))
            return std::unexpected{*std::move(error)};
    return check_profiles(config);
}

} // namespace mrc::service
