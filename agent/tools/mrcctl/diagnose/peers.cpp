// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/peers.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <ranges>
#include <utility>

#include "service/address.h"
#include "tools/mrcctl/views.h"

namespace mrc::ctl::diagnose
{

namespace
{

using host_key = std::pair<std::uint32_t, std::uint16_t>; // path group and downlink

host_key key_of(const mrc_peer_row &row)
{
    return {row.group_base, row.host_usid};
}

bool comes_first(const mrc_ip &a, const mrc_ip &b)
{
    if (service::is_ipv4(a) != service::is_ipv4(b))
        return service::is_ipv4(b);
    return std::memcmp(&a, &b, sizeof(a)) < 0;
}

std::vector<peer_place> peers_of_queue_pairs(const host_maps &maps)
{
    std::map<host_key, peer_place> hosts;
    for (std::uint32_t number = 0; number < MRC_MAX_QPS; ++number) {
        const mrc_qp_row qp = maps.qps()[number];
        if (qp.qpn == 0)
            continue;
        if (const auto row = maps.peer(qp.peer))
            hosts.try_emplace(key_of(*row), peer_place{.address = qp.peer, .row = *row});
    }
    const auto peers = std::views::values(hosts);
    return {peers.begin(), peers.end()};
}

} // namespace

std::vector<peer_place> peers_in_map(const host_maps &maps)
{
    // Not addresses of planes, which stand in direct paths, and come later in SRv6 fabrics.
    const auto on_planes = [&](const mrc_ip &address, const mrc_peer_row &row) {
        const std::uint32_t end = row.group_base + std::uint32_t{row.planes} * row.uplinks;
        for (std::uint32_t number = row.group_base; number < std::min(end, maps.paths().size()); ++number)
            if (service::is_same(maps.paths()[number].carrier, address))
                return true;
        return false;
    };
    map_shape shape{.name = "peers", .key_size = sizeof(mrc_ip), .row_size = sizeof(mrc_peer_row), .rows = 0};
    (void)open_map(maps.of(), shape);
    std::map<host_key, peer_place> hosts;
    for (const auto &[address, row] : read_hash<mrc_ip, mrc_peer_row>(maps.of(), "peers", shape.rows)) {
        if (on_planes(address, row))
            continue;
        const auto [known, is_new] = hosts.try_emplace(key_of(row), peer_place{.address = address, .row = row});
        if (!is_new && comes_first(address, known->second.address))
            known->second = {.address = address, .row = row};
    }
    const auto peers = std::views::values(hosts);
    return {peers.begin(), peers.end()};
}

chosen_peers choose_peers(const host_maps &maps, const std::string &named)
{
    if (!named.empty()) {
        (void)paths_toward(maps, named); // which says what is wrong with it
        const auto address = service::parse_ip(named);
        const auto row = address ? maps.peer(*address) : std::nullopt;
        return row ? chosen_peers{.peers = {{.address = *address, .row = *row}}, .left_out = 0} : chosen_peers{};
    }
    chosen_peers chosen{.peers = peers_of_queue_pairs(maps), .left_out = 0};
    if (chosen.peers.empty())
        chosen.peers = peers_in_map(maps);
    if (chosen.peers.size() > most_peers) {
        chosen.left_out = chosen.peers.size() - most_peers;
        chosen.peers.resize(most_peers);
    }
    return chosen;
}

} // namespace mrc::ctl::diagnose
