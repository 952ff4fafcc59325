// SPDX-License-Identifier: Apache-2.0
#include "service/direct_fabric.h"

#include <algorithm>

namespace mrc::service
{

bool direct_fabric::address_less::operator()(const mrc_ip &a, const mrc_ip &b) const
{
    return std::ranges::lexicographical_compare(a.bytes, b.bytes);
}

// This host may stand in the list, so that all hosts can have the same one; else it comes behind all others.
direct_fabric::direct_fabric(const daemon_config &config)
    : planes_{config.fabric.planes}, paths_{paths_per_plane(config.fabric)}, ev_bits_{ev_bits_of(config)},
      hosts_{config.hosts}
{
    for (std::uint32_t row = 0; row < hosts_.size(); ++row)
        for (const mrc_ip &address : addresses_of({.leaf = row}))
            host_at_.emplace(address, row);
    self_.leaf = static_cast<std::uint32_t>(hosts_.size());
    host_entry own{.addresses = std::vector<std::optional<mrc_ip>>(planes_)};
    if (!is_same(config.host.address, mrc_ip{}))
        own.common = config.host.address;
    for (const port_options &port : config.ports) {
        own.addresses[port.plane.value] = port.own_address;
        const auto listed = port.own_address ? host_at_.find(*port.own_address) : host_at_.end();
        if (listed != host_at_.end())
            self_.leaf = listed->second;
    }
    if (self_.leaf == hosts_.size())
        hosts_.emplace_back();
    hosts_[self_.leaf] = std::move(own);
    for (const mrc_ip &address : addresses_of(self_))
        host_at_.insert_or_assign(address, self_.leaf);
}

mrc_ip direct_fabric::address_of(host_place host) const
{
    const std::vector<mrc_ip> all = addresses_of(host);
    return all.empty() ? mrc_ip{} : all.front();
}

std::optional<mrc_ip> direct_fabric::address_of(host_place host, protocol::plane_index plane) const
{
    return hosts_[host.leaf].addresses[plane.value];
}

std::vector<mrc_ip> direct_fabric::addresses_of(host_place host) const
{
    std::vector<mrc_ip> addresses;
    if (const auto &common = hosts_[host.leaf].common)
        addresses.push_back(*common);
    for (const auto &address : hosts_[host.leaf].addresses)
        if (address)
            addresses.push_back(*address);
    return addresses;
}

mrc_ip direct_fabric::outer_destination(protocol::plane_index plane) const
{
    const host_entry &own = hosts_[self_.leaf];
    return own.common ? own.addresses[plane.value].value_or(mrc_ip{}) : mrc_ip{};
}

std::vector<ip_prefix> direct_fabric::overlay_routes() const
{
    constexpr std::uint8_t single = 128;
    std::vector<ip_prefix> routes;
    for (std::uint32_t row = 0; row < hosts_.size() && hosts_[self_.leaf].common; ++row)
        if (const auto &common = hosts_[row].common; common && row != self_.leaf)
            routes.push_back({.address = *common, .length = single});
    return routes;
}

std::vector<mrc_ip> direct_fabric::sources_of(const mrc_ip &connected) const
{
    std::vector<mrc_ip> sources(MRC_MAX_PORTS);
    if (const auto host = host_of(connected))
        for (std::size_t plane = 0; plane < planes_; ++plane)
            sources[plane] = hosts_[host->leaf].addresses[plane].value_or(mrc_ip{});
    return sources;
}

std::optional<host_place> direct_fabric::host_of(const mrc_ip &address) const
{
    const auto known = host_at_.find(address);
    return known == host_at_.end() ? std::nullopt : std::optional{host_place{.leaf = known->second}};
}

std::string direct_fabric::refusal_of(const mrc_ip &address) const
{
    return to_text(address) + " is in no [[peer]] of mrcd's configuration";
}

mrc_path_row direct_fabric::path_of(const path_group_rows &group, protocol::plane_index plane,
                                    std::uint32_t uplink) const
{
    mrc_path_row path{};
    path.carrier = hosts_[group.leaf].addresses[plane.value].value_or(mrc_ip{});
    path.kind = MRC_CARRIER_DIRECT;
    path.state = MRC_PATH_GOOD;
    path.group = static_cast<__u16>(group.leaf);
    path.next_hop = static_cast<__u16>(MRC_NEXT_HOP_ROW(group.leaf, plane.value));
    path.plane = plane.value;
    path.port = plane.value;
    path.uplink = static_cast<__u16>(uplink);
    path.ev = mrc_ev_make(plane.value, uplink, first_entropy);
    return path;
}

} // namespace mrc::service
