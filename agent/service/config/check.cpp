// SPDX-License-Identifier: Apache-2.0
// What follows from several options, and what must hold between them.
#include "service/config/options.h"

#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>
#include <map>
#include <set>
#include <utility>

#include "service/config/profiles.h"
#include "service/srv6_fabric.h"
#include "session/host_names.h"
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

bool is_direct(const daemon_config &config)
{
    return config.fabric.mode == fabric_mode::direct;
}

// In the words in which the reader misses an option.
config_error missing(const daemon_config &config, std::string_view table, std::string_view key)
{
    for (const auto &part : config_options().parts())
        for (const auto &option : part.content->options())
            if (part.key == table && option.key == key)
                return config.origin.error_at(fmt::format("{}.{}", table, key),
                                              "missing; required is " + option.allowed);
    return config.origin.error_at(fmt::format("{}.{}", table, key), "missing");
}

// What an SRv6 fabric must have, and what a direct one cannot.
check_result check_mode(const daemon_config &config)
{
    using table_and_key = std::pair<std::string_view, std::string_view>;
    for (const auto &[table, key] : std::initializer_list<table_and_key>{
             {"host", "leaf"}, {"host", "downlink"}, {"fabric", "planes"}, {"fabric", "leaves"}, {"fabric", "uplinks"}})
        if (!is_direct(config) && !config.origin.has(fmt::format("{}.{}", table, key)))
            return missing(config, table, key);
    for (const auto &[name, at] : config.origin.given)
        if (is_direct(config) && !is_of_fabric(fabric_mode::direct, name))
            return config.origin.error_at(name, R"(found with fabric.mode "direct", allowed only with "srv6")");
    return std::nullopt;
}

std::string peer_key(std::size_t row)
{
    return fmt::format("peer[{}].addresses", row);
}

// One address on each plane, and no address twice.
check_result check_peers(const daemon_config &config)
{
    if (!is_direct(config))
        return std::nullopt;
    if (config.hosts.empty())
        return config.origin.error_at("peer", "missing; required is one [[peer]] per host with fabric.mode \"direct\"");
    std::map<std::string, std::string> known; // address -> where it stands
    for (std::size_t row = 0; row < config.hosts.size(); row++) {
        const auto &addresses = config.hosts[row].addresses;
        if (addresses.size() != config.fabric.planes)
            return config.origin.error_at(
                peer_key(row), fmt::format("found {} addresses, allowed are {}, one for each plane (\"none\" "
                                           "where the host is not on it)",
                                           addresses.size(), config.fabric.planes));
        if (const auto &common = config.hosts[row].common) {
            const auto [first, is_new] = known.emplace(to_text(*common), fmt::format("peer[{}].address", row));
            if (!is_new)
                return config.origin.error_at(fmt::format("peer[{}].address", row),
                                              fmt::format("found \"{}\", which {} has already; allowed is one place "
                                                          "for an address",
                                                          first->first, first->second));
        }
        if (std::ranges::none_of(addresses, [](const auto &address) { return address.has_value(); }))
            return config.origin.error_at(peer_key(row), "found no address, allowed is one at least");
        for (const auto &address : addresses) {
            if (!address)
                continue;
            const auto [first, is_new] = known.emplace(to_text(*address), peer_key(row));
            if (!is_new)
                return config.origin.error_at(peer_key(row),
                                              fmt::format("found \"{}\", which {} has already; allowed is one place "
                                                          "for an address",
                                                          first->first, first->second));
        }
    }
    return std::nullopt;
}

// A name leads to one host.
check_result check_names(const daemon_config &config)
{
    for (std::size_t row = 0; row < config.hosts.size(); row++) {
        const std::optional<std::string> &name = config.hosts[row].name;
        if (!name)
            continue;
        for (std::size_t earlier = 0; earlier < row; earlier++)
            if (const auto &other = config.hosts[earlier].name; other && session::is_same_name(*name, *other))
                return config.origin.error_at(
                    fmt::format("peer[{}].name", row),
                    fmt::format("found \"{}\", which peer[{}].name has already; allowed is a name of one host", *name,
                                earlier));
    }
    return std::nullopt;
}

// Uplinks are chosen by their lowest bits.
check_result check_paths(const daemon_config &config)
{
    const std::uint32_t paths = paths_per_plane(config.fabric);
    const std::uint32_t uplinks = config.fabric.uplinks;
    if (is_direct(config) || paths == uplinks || (std::has_single_bit(paths) && paths < uplinks))
        return std::nullopt;
    return config.origin.error_at("fabric.paths",
                                  fmt::format("found {}, allowed is {}, as fabric.uplinks is {}, or a power of 2 below",
                                              paths, uplinks, uplinks));
}

// Room for one leaf, or peer, at least.
check_result check_path_rows(const daemon_config &config)
{
    const std::uint32_t needed = config.fabric.planes * paths_per_plane(config.fabric);
    const std::uint32_t rows = config.tables.paths.value_or(usual_paths);
    if (rows >= needed)
        return std::nullopt;
    return config.origin.error_at("tables.paths",
                                  fmt::format("found {}, allowed is {} or more: {} planes of {} paths", rows, needed,
                                              config.fabric.planes, paths_per_plane(config.fabric)));
}

bool overlap(const ip_prefix &a, const ip_prefix &b)
{
    for (unsigned bit = 0; bit < std::min(a.length, b.length); bit++)
        if (mrc_bit_get(a.address.bytes, bit) != mrc_bit_get(b.address.bytes, bit))
            return false;
    return true;
}

std::string sockets_key(std::size_t row, std::string_view key)
{
    return fmt::format("sockets[{}].{}", row, key);
}

// What programs may not call a host: the way to an MRC address is mrcnet0 already.
bool is_on_overlay(const daemon_config &config, const mrc_ip &address)
{
    if (is_direct(config))
        return is_same(config.host.address, address) || std::ranges::any_of(config.hosts, [&](const host_entry &host) {
                   return host.common && is_same(*host.common, address);
               });
    const auto contains = [&](const ip_prefix &prefix) {
        return overlap(prefix, ip_prefix{.address = address, .length = 128});
    };
    return contains(config.fabric.address_prefix) ||
           (config.fabric.ipv4_prefix && contains(*config.fabric.ipv4_prefix));
}

// The common address of a host on the overlay device.
bool is_socket_host(const daemon_config &config, const mrc_ip &host)
{
    if (is_direct(config))
        return is_on_overlay(config, host);
    const srv6_fabric rules{config};
    const auto place = rules.host_of(host);
    return place && is_same(rules.address_of(*place), host);
}

check_result check_ordinary_address(const daemon_config &config, std::size_t row, const mrc_ip &address)
{
    const std::string key = sockets_key(row, "addresses");
    if (is_on_overlay(config, address))
        return config.origin.error_at(
            key, fmt::format("found {}, an MRC address; allowed are addresses on other networks", to_text(address)));
    if (!is_ipv4(address) || config.fabric.ipv4_prefix)
        return std::nullopt;
    return config.origin.error_at(key, fmt::format("found {}, allowed are IPv6 addresses: {}", to_text(address),
                                                   is_direct(config)
                                                       ? "in direct mode the overlay has no IPv4"
                                                       : "hosts have IPv4 MRC addresses only with fabric.ipv4_prefix"));
}

// An ordinary address leads to one host.
check_result check_sockets(const daemon_config &config)
{
    std::map<std::string, std::string> known; // address -> where it stands
    for (std::size_t row = 0; row < config.sockets.size(); row++) {
        const auto &[host, addresses] = config.sockets[row];
        if (!is_socket_host(config, host))
            return config.origin.error_at(sockets_key(row, "host"),
                                          fmt::format("found {}, allowed is {}", to_text(host),
                                                      is_direct(config)
                                                          ? "the address of a [[peer]], or [host] address"
                                                          : "the common MRC address of a host of this fabric"));
        std::vector<std::pair<mrc_ip, std::string_view>> all{{host, "host"}};
        for (const mrc_ip &address : addresses)
            all.emplace_back(address, "addresses");
        for (const auto &[address, key] : all) {
            const auto [first, is_new] = known.emplace(to_text(address), sockets_key(row, key));
            if (!is_new)
                return config.origin.error_at(sockets_key(row, key),
                                              fmt::format("found {}, which {} has already; allowed is one place for "
                                                          "an address",
                                                          first->first, first->second));
        }
        for (const mrc_ip &address : addresses)
            if (auto error = check_ordinary_address(config, row, address))
                return error;
    }
    return std::nullopt;
}

check_result check_place_in_fabric(const daemon_config &config)
{
    if (is_direct(config))
        return std::nullopt;
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

check_result check_prefixes(const daemon_config &config)
{
    if (!is_direct(config) && overlap(config.fabric.usids.block, config.fabric.address_prefix))
        return config.origin.error_at(
            "fabric.address_prefix",
            fmt::format("found {}, which overlaps fabric.usid_block {}; allowed are disjoint prefixes",
                        to_text(config.fabric.address_prefix), to_text(config.fabric.usids.block)));
    return std::nullopt;
}

std::string usid_key(std::size_t row, std::string_view key)
{
    return fmt::format("usid[{}].{}", row, key);
}

// A switch of the fabric, each once.
check_result check_given_usids(const daemon_config &config)
{
    std::set<std::array<std::uint32_t, 3>> known; // plane, which of both, number
    for (std::size_t row = 0; row < config.fabric.usids.given.size(); row++) {
        const given_usid &given = config.fabric.usids.given[row];
        if (given.leaf.has_value() == given.spine.has_value())
            return config.origin.error_at(usid_key(row, "usid"),
                                          "allowed is either leaf or spine, the switch whose uSID it is");
        const auto outside = [&](std::string_view key, std::uint32_t number, std::uint32_t count,
                                 std::string_view option) -> check_result {
            if (number < count)
                return std::nullopt;
            return config.origin.error_at(usid_key(row, key), fmt::format("found {}, allowed is 0 to {}, as {} is {}",
                                                                          number, count - 1, option, count));
        };
        const fabric_options &fabric = config.fabric;
        if (auto error = outside("plane", given.plane.value, fabric.planes, "fabric.planes"))
            return error;
        if (auto error = given.leaf ? outside("leaf", *given.leaf, fabric.leaves, "fabric.leaves")
                                    : outside("spine", *given.spine, fabric.uplinks, "fabric.uplinks"))
            return error;
        const std::string_view role = given.leaf ? "leaf" : "spine";
        if (!known.insert({given.plane.value, given.leaf ? 1U : 0U, given.leaf.value_or(given.spine.value_or(0))})
                 .second)
            return config.origin.error_at(
                usid_key(row, role),
                fmt::format("found {} {} of plane {} a second time, allowed is one [[usid]] a "
                            "switch",
                            role, given.leaf.value_or(given.spine.value_or(0)), given.plane.value));
    }
    return std::nullopt;
}

check_result check_usid_plan(const daemon_config &config)
{
    if (is_direct(config))
        return std::nullopt;
    if (auto error = check_given_usids(config))
        return error;
    const fabric_options &fabric = config.fabric;
    const auto fault = usid_plan{fabric.usids}.check({.planes = fabric.planes,
                                                      .leaves = fabric.leaves,
                                                      .spines = fabric.uplinks,
                                                      .hosts_per_leaf = fabric.hosts_per_leaf});
    if (fault)
        return config.origin.error_at("fabric." + fault->key, fault->text);
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
    const unsigned needed = srv6_fabric::ipv4_host_bits(config.fabric);
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
    if (is_direct(config))
        return std::nullopt;
    const auto by_rule = srv6_fabric{config}.address_of({.leaf = config.host.leaf, .downlink = config.host.downlink});
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
    if (!is_direct(config) && !config.origin.has("host.address"))
        config.host.address =
            srv6_fabric{config}.address_of({.leaf = config.host.leaf, .downlink = config.host.downlink});
    if (!is_direct(config))
        return;
    config.fabric.leaves = static_cast<std::uint32_t>(config.hosts.size());
    config.fabric.uplinks = paths_per_plane(config.fabric);
    config.fabric.hosts_per_leaf = 1;
    if (!config.origin.has("fabric.planes") && !config.hosts.empty())
        config.fabric.planes = static_cast<std::uint8_t>(config.hosts.front().addresses.size());
}

} // namespace

std::expected<void, config_error> complete_config(daemon_config &config)
{
    fill_in(config);
    for (const auto check : {check_mode, check_peers, check_names, check_paths, check_path_rows, check_place_in_fabric,
                             check_prefixes, check_usid_plan, check_ipv4_prefix, check_address, check_sockets,
                             check_ports, check_dscps, check_active_paths})
        if (auto error = check(config))
            return std::unexpected{*std::move(error)};
    return check_profiles(config);
}

} // namespace mrc::service
