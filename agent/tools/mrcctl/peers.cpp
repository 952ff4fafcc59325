// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/peers.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "service/address.h"
#include "tools/hosts/lookup.h"
#include "tools/mrcctl/error.h"

namespace mrc::ctl
{

namespace
{

// Addresses of planes stand in direct paths, and come later in SRv6 fabrics.
bool is_on_a_plane(const host_maps &maps, const mrc_ip &address, const mrc_peer_row &row)
{
    const std::uint32_t end = row.group_base + std::uint32_t{row.planes} * row.uplinks;
    for (std::uint32_t number = row.group_base; number < std::min(end, maps.paths().size()); ++number)
        if (service::is_same(maps.paths()[number].carrier, address))
            return true;
    return false;
}

struct ranked_address {
    bool on_a_plane = false;
    bool is_ipv4 = false;
    mrc_ip address{};
    mrc_peer_row row{};

    bool operator<(const ranked_address &than) const
    {
        if (on_a_plane != than.on_a_plane || is_ipv4 != than.is_ipv4)
            return std::tie(on_a_plane, is_ipv4) < std::tie(than.on_a_plane, than.is_ipv4);
        return std::memcmp(&address, &than.address, sizeof(address)) < 0;
    }
};

} // namespace

std::vector<peer_place> peers_in_map(const host_maps &maps)
{
    map_shape shape{.name = "peers", .key_size = sizeof(mrc_ip), .row_size = sizeof(mrc_peer_row), .rows = 0};
    (void)open_map(maps.of(), shape);
    std::map<host_key, std::vector<ranked_address>> hosts;
    for (const auto &[address, row] : read_hash<mrc_ip, mrc_peer_row>(maps.of(), "peers", shape.rows))
        hosts[key_of(row)].push_back({.on_a_plane = is_on_a_plane(maps, address, row),
                                      .is_ipv4 = service::is_ipv4(address),
                                      .address = address,
                                      .row = row});
    std::vector<peer_place> peers;
    for (auto &[key, addresses] : hosts) {
        std::ranges::sort(addresses, std::less{});
        peer_place &peer = peers.emplace_back(
            peer_place{.address = addresses.front().address, .row = addresses.front().row, .others = {}});
        for (std::size_t i = 1; i < addresses.size(); ++i)
            peer.others.push_back(addresses[i].address);
    }
    return peers;
}

peer_place peer_named(const host_maps &maps, const std::string &named)
{
    const auto text = tools::address_of_peer(named, maps.of().name);
    if (!text)
        throw ctl_error{text.error()};
    const mrc_ip address = service::parse_ip(*text).value_or(mrc_ip{});
    const auto row = maps.peer(address);
    if (!row)
        throw ctl_error{fmt::format("'{}' is no peer that paths of instance '{}' lead to, as its own host is none; "
                                    "`mrcctl peer list` names those that there are",
                                    *text, maps.of().name)};
    return {.address = address, .row = *row, .others = {}};
}

} // namespace mrc::ctl
