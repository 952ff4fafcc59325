// SPDX-License-Identifier: Apache-2.0
#include "service/ports/own_addresses.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <linux/if_addr.h>

#include "kernel/netlink.h"
#include "service/ports/rtnetlink_records.h"

namespace mrc::service
{

namespace
{

std::string texts_of(std::span<const mrc_ip> addresses)
{
    std::string text;
    for (const mrc_ip &address : addresses)
        text += (text.empty() ? "" : ", ") + to_text(address);
    return text.empty() ? "none" : text;
}

std::string name_of(const port_options &port)
{
    return fmt::format("port {} (plane {})", port.device, port.plane.value);
}

// Where an address stands among the hosts that are listed.
std::optional<std::size_t> row_with(const daemon_config &config, const mrc_ip &address)
{
    for (std::size_t row = 0; row < config.hosts.size(); ++row)
        if (std::ranges::any_of(config.hosts[row].addresses,
                                [&](const auto &known) { return known && is_same(*known, address); }))
            return row;
    return std::nullopt;
}

bool is_listed(const daemon_config &config, protocol::plane_index plane, const mrc_ip &address)
{
    return std::ranges::any_of(config.hosts, [&](const host_entry &host) {
        const auto &known = host.addresses[plane.value];
        return known && is_same(*known, address);
    });
}

// Somebody is on the plane with an address of the same family.
bool is_of_plane(const daemon_config &config, protocol::plane_index plane, const mrc_ip &address)
{
    return std::ranges::any_of(config.hosts, [&](const host_entry &host) {
        const auto &known = host.addresses[plane.value];
        return known && is_ipv4(*known) == is_ipv4(address);
    });
}

// For a port whose address is not configured.
std::vector<mrc_ip> candidates_of(const daemon_config &config, const port_options &port,
                                  std::span<const mrc_ip> on_device)
{
    std::vector<mrc_ip> candidates;
    std::ranges::copy_if(on_device, std::back_inserter(candidates),
                         [&](const auto &it) { return is_listed(config, port.plane, it); });
    if (candidates.empty())
        std::ranges::copy_if(on_device, std::back_inserter(candidates),
                             [&](const auto &it) { return is_of_plane(config, port.plane, it); });
    return candidates;
}

std::string has_none(const port_options &port)
{
    return fmt::format("{} has no address of the peers' family: ip address add, or name the one that it will have by "
                       "[[port]] address",
                       name_of(port));
}

std::vector<mrc_ip> addresses_on(std::span<const device_address> on_devices, const port_options &port)
{
    std::vector<mrc_ip> addresses;
    for (const device_address &each : on_devices)
        if (each.device == port.device)
            addresses.push_back(each.address);
    return addresses;
}

std::expected<mrc_ip, std::string> own_address_of(const daemon_config &config, const port_options &port,
                                                  std::span<const mrc_ip> on_device)
{
    if (port.address) {
        if (on_device.empty() ||
            std::ranges::any_of(on_device, [&](const auto &it) { return is_same(it, *port.address); }))
            return *port.address; // a device that is not there yet may get it
        return std::unexpected{fmt::format("{}: [[port]] address {} is not on the device, which has {}: ip address add "
                                           "{} dev {}, with the prefix length of its network",
                                           name_of(port), to_text(*port.address), texts_of(on_device),
                                           to_text(*port.address), port.device)};
    }
    const std::vector<mrc_ip> candidates = candidates_of(config, port, on_device);
    if (candidates.size() == 1)
        return candidates.front();
    if (candidates.empty())
        return std::unexpected{has_none(port)};
    return std::unexpected{fmt::format("{} has several addresses, {}: [[port]] address says which one peers send to",
                                       name_of(port), texts_of(candidates))};
}

// Found before this is asked.
mrc_ip own_of(const port_options &port)
{
    return port.own_address.value_or(mrc_ip{});
}

// A host that stands in the list itself is where its peers, who have the same list, send to.
std::expected<void, std::string> compare_with_list(daemon_config &config)
{
    std::optional<std::size_t> own_row;
    for (const port_options &port : config.ports)
        if (const auto row = row_with(config, own_of(port)); row) {
            if (own_row && *own_row != *row)
                return std::unexpected{fmt::format("{} has address {}, of peer[{}], and other ports have addresses of "
                                                   "peer[{}]: a host has one [[peer]]",
                                                   name_of(port), to_text(own_of(port)), *row, *own_row)};
            own_row = row;
        }
    if (!own_row)
        return {};
    for (const port_options &port : config.ports) {
        const auto &listed = config.hosts[*own_row].addresses[port.plane.value];
        if (!listed || !is_same(*listed, own_of(port)))
            return std::unexpected{fmt::format("{} has address {}, but peer[{}], this host, has {} on that plane",
                                               name_of(port), to_text(own_of(port)), *own_row,
                                               listed ? to_text(*listed) : "none")};
    }
    const auto &common = config.hosts[*own_row].common;
    const bool is_given = !is_same(config.host.address, mrc_ip{});
    if (common && is_given && !is_same(config.host.address, *common))
        return std::unexpected{fmt::format("[host] address is {}, but peer[{}], this host, has {}",
                                           to_text(config.host.address), *own_row, to_text(*common))};
    if (common)
        config.host.address = *common;
    return {};
}

// What sockets send is carried in IPv6.
std::expected<void, std::string> check_overlay(const daemon_config &config)
{
    if (is_same(config.host.address, mrc_ip{}))
        return {};
    for (const port_options &port : config.ports)
        if (is_ipv4(own_of(port)))
            return std::unexpected{fmt::format("{} has address {}: [host] address, for the overlay, needs IPv6 on all "
                                               "planes",
                                               name_of(port), to_text(own_of(port)))};
    return {};
}

std::expected<void, std::string> compare_families(const daemon_config &config)
{
    for (const port_options &port : config.ports)
        for (std::size_t row = 0; row < config.hosts.size(); ++row)
            if (const auto &other = config.hosts[row].addresses[port.plane.value];
                other && is_ipv4(*other) != is_ipv4(own_of(port)))
                return std::unexpected{fmt::format("{} has address {}, but peer[{}] has {} on that plane: both must be "
                                                   "IPv6, or IPv4",
                                                   name_of(port), to_text(own_of(port)), row, to_text(*other))};
    return {};
}

} // namespace

std::expected<std::vector<device_address>, std::error_code> read_device_addresses()
{
    std::vector<device_address> all;
    kernel::netlink_socket socket;
    kernel::netlink_request request{RTM_GETADDR, NLM_F_DUMP, ifaddrmsg{}};
    const std::error_code error = socket.call(request, [&](const nlmsghdr &message) {
        if (const auto address = parse_address(message))
            all.push_back(*address);
    });
    if (error)
        return std::unexpected{error};
    return all;
}

std::expected<void, std::string> find_own_addresses(daemon_config &config, std::span<const device_address> on_devices)
{
    for (port_options &port : config.ports) {
        const auto own = own_address_of(config, port, addresses_on(on_devices, port));
        if (!own)
            return std::unexpected{own.error()};
        port.own_address = *own;
    }
    if (auto as_listed = compare_with_list(config); !as_listed)
        return as_listed;
    if (auto same = compare_families(config); !same)
        return same;
    return check_overlay(config);
}

std::string find_missing_address(const daemon_config &config, std::span<const device_address> on_devices)
{
    for (const port_options &port : config.ports)
        if (!port.address && candidates_of(config, port, addresses_on(on_devices, port)).empty())
            return has_none(port);
    return {};
}

} // namespace mrc::service
