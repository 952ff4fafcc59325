// SPDX-License-Identifier: Apache-2.0
#include "service/srv6_fabric.h"

#include <algorithm>
#include <bit>

namespace mrc::service
{

namespace
{

// Byte positions in an MRC address.
constexpr std::size_t plane_at = 6;
constexpr std::size_t leaf_at = 12;
constexpr std::size_t downlink_at = 14;

constexpr unsigned ipv4_leaf_shift = std::bit_width(max_downlinks);

void put16(mrc_ip &address, std::size_t at, std::uint32_t value)
{
    address.bytes[at] = static_cast<__u8>(value >> 8);
    address.bytes[at + 1] = static_cast<__u8>(value);
}

std::uint32_t get16(const mrc_ip &address, std::size_t at)
{
    return static_cast<std::uint32_t>(address.bytes[at]) << 8 | address.bytes[at + 1];
}

mrc_ip address_with(const ip_prefix &prefix, host_place host, std::uint32_t plane_selector)
{
    mrc_ip address = prefix.address;
    put16(address, plane_at, plane_selector);
    put16(address, leaf_at, host.leaf);
    put16(address, downlink_at, host.downlink + 1);
    return address;
}

std::uint32_t ipv4_place(host_place host)
{
    return host.leaf << ipv4_leaf_shift | (host.downlink + 1);
}

mrc_ip address4_with(const ip_prefix &prefix, host_place host)
{
    const std::uint32_t place = ipv4_place(host);
    mrc_ip address = prefix.address;
    for (std::size_t i = 0; i < sizeof(place); i++)
        address.bytes[mapped_ipv4_at + i] |= static_cast<__u8>(place >> (24 - 8 * i));
    return address;
}

} // namespace

srv6_fabric::srv6_fabric(const daemon_config &config)
    : options_{config.fabric}, usids_{config.fabric.usids},
      self_{.leaf = config.host.leaf, .downlink = config.host.downlink}, ev_bits_{ev_bits_of(config)},
      outer_sources_{config.transmit.outer_sources}
{
}

mrc_ip srv6_fabric::address_of(host_place host) const
{
    return address_with(options_.address_prefix, host, 0);
}

std::optional<mrc_ip> srv6_fabric::address_of(host_place host, protocol::plane_index plane) const
{
    return address_with(options_.address_prefix, host, plane.value + 1U);
}

std::optional<mrc_ip> srv6_fabric::address4_of(host_place host) const
{
    if (!options_.ipv4_prefix)
        return std::nullopt;
    return address4_with(*options_.ipv4_prefix, host);
}

std::vector<mrc_ip> srv6_fabric::addresses_of(host_place host) const
{
    std::vector<mrc_ip> addresses{address_of(host)};
    if (const auto address4 = address4_of(host))
        addresses.push_back(*address4);
    for (std::uint8_t plane = 0; plane < options_.planes; ++plane)
        addresses.push_back(address_with(options_.address_prefix, host, plane + 1U));
    return addresses;
}

unsigned srv6_fabric::speaker_of(const mrc_ip &address) const
{
    constexpr unsigned common = 0;
    constexpr unsigned ipv4 = 1;
    constexpr unsigned first_plane = 2;
    if (is_ipv4(address))
        return ipv4;
    const auto plane = plane_of(address);
    return plane ? first_plane + plane->value : common;
}

std::vector<mrc_ip> srv6_fabric::sources_of(const mrc_ip &connected) const
{
    const auto host = host_of(connected);
    const mrc_ip source = is_ipv4(connected) || !host ? connected : address_of(*host);
    return std::vector<mrc_ip>(MRC_MAX_PORTS, source);
}

std::string srv6_fabric::refusal_of(const mrc_ip &address) const
{
    const auto &prefix4 = options_.ipv4_prefix;
    std::string allowed = "prefix " + to_text(options_.address_prefix);
    if (is_ipv4(address))
        allowed = prefix4 ? "prefix " + to_text(*prefix4) : "which has no ipv4_prefix";
    return to_text(address) + " is no address of this fabric (" + allowed + ")";
}

unsigned srv6_fabric::ipv4_host_bits(const fabric_options &options)
{
    return static_cast<unsigned>(
        std::bit_width(ipv4_place({.leaf = options.leaves - 1, .downlink = options.hosts_per_leaf - 1})));
}

std::optional<host_place> srv6_fabric::host_of_ipv4(const mrc_ip &address, const ip_prefix &prefix) const
{
    constexpr std::uint32_t place_mask = (1U << ipv4_leaf_shift) - 1;
    const std::uint32_t value = get16(address, mapped_ipv4_at) << 16 | get16(address, mapped_ipv4_at + 2);
    const std::uint32_t base = get16(prefix.address, mapped_ipv4_at) << 16 | get16(prefix.address, mapped_ipv4_at + 2);
    const std::uint32_t place = value ^ base;
    const host_place host{.leaf = place >> ipv4_leaf_shift, .downlink = (place & place_mask) - 1};
    if (host.leaf >= options_.leaves || host.downlink >= options_.hosts_per_leaf)
        return std::nullopt;
    if (!is_same(address, address4_with(prefix, host)))
        return std::nullopt;
    return host;
}

std::optional<host_place> srv6_fabric::host_of(const mrc_ip &address) const
{
    if (options_.ipv4_prefix && is_ipv4(address))
        return host_of_ipv4(address, *options_.ipv4_prefix);
    const std::uint32_t selector = get16(address, plane_at);
    const std::uint32_t downlink = get16(address, downlink_at) - 1; // wraps far out of range for 0
    const host_place host{.leaf = get16(address, leaf_at), .downlink = downlink};
    if (selector > options_.planes || host.leaf >= options_.leaves || host.downlink >= options_.hosts_per_leaf)
        return std::nullopt;
    if (!is_same(address, address_with(options_.address_prefix, host, selector)))
        return std::nullopt;
    return host;
}

std::optional<protocol::plane_index> srv6_fabric::plane_of(const mrc_ip &address) const
{
    const std::uint32_t selector = get16(address, plane_at);
    if (selector == 0 || !host_of(address))
        return std::nullopt;
    return protocol::plane_index{static_cast<std::uint8_t>(selector - 1)};
}

std::uint32_t srv6_fabric::uplink_in(const mrc_carrier &carrier, protocol::plane_index plane) const
{
    return usids_.spine_of(plane, mrc_usid_at(&carrier, usids_.block_bytes(), 1), options_.uplinks).value_or(0);
}

std::vector<ip_prefix> srv6_fabric::overlay_routes() const
{
    std::vector<ip_prefix> routes{options_.address_prefix};
    if (options_.ipv4_prefix)
        routes.push_back(*options_.ipv4_prefix);
    return routes;
}

mrc_ip srv6_fabric::outer_destination(protocol::plane_index plane) const
{
    return usids_.carrier({usids_.host(plane, self_.downlink)});
}

std::uint32_t srv6_fabric::uplinks_to(std::uint32_t leaf) const
{
    return leaf == self_.leaf ? 1 : paths_per_plane(options_);
}

bool srv6_fabric::chooses_uplinks_to(std::uint32_t leaf) const
{
    return leaf != self_.leaf && paths_per_plane(options_) != options_.uplinks;
}

// Any function of these numbers that scatters well would do, if all hosts have the same: SplitMix64's (Steele, Lea and
// Flood, 2014).
std::uint32_t srv6_fabric::uplink_of(const path_group_rows &group, protocol::plane_index plane, std::uint32_t row) const
{
    if (!chooses_uplinks_to(group.leaf))
        return row;
    const auto [low, high] = std::minmax(self_.leaf, group.leaf);
    std::uint64_t mixed =
        (std::uint64_t{low} << 48 | std::uint64_t{high} << 32 | std::uint64_t{plane.value} << 16 | row);
    mixed += 0x9E3779B97F4A7C15;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
    mixed ^= mixed >> 31;
    const std::uint32_t candidates = (options_.uplinks - row + group.uplinks - 1) / group.uplinks;
    return row + group.uplinks * static_cast<std::uint32_t>(mixed % candidates);
}

mrc_path_row srv6_fabric::path_of(const path_group_rows &group, protocol::plane_index plane, std::uint32_t uplink) const
{
    const std::uint16_t own = usids_.leaf(plane, self_.leaf);
    const std::uint16_t of_plane = usids_.host_plane_bits(plane);
    const bool is_neighbour = group.leaf == self_.leaf;

    mrc_path_row path{};
    path.carrier = is_neighbour
                       ? usids_.carrier({own, of_plane})
                       : usids_.carrier({own, usids_.spine(plane, uplink), usids_.leaf(plane, group.leaf), of_plane});
    path.state = MRC_PATH_GOOD;
    path.source = static_cast<__u8>(uplink % outer_sources_); // all packets of an EV have one, and stay in order
    path.host_usid_at = static_cast<__u8>(mrc_usid_offset(usids_.block_bytes(), is_neighbour ? 1 : 3));
    path.group = static_cast<__u16>(group.leaf);
    path.plane = plane.value;
    path.port = plane.value;
    path.kind = MRC_CARRIER_SRV6;
    path.next_hop = plane.value; // the port's gateway
    path.uplink = static_cast<__u16>(uplink);
    path.ev = mrc_ev_make(plane.value, uplink, first_entropy);
    return path;
}

} // namespace mrc::service
