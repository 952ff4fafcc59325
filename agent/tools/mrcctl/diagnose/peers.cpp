// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/peers.h"

#include <map>
#include <ranges>

namespace mrc::ctl::diagnose
{

namespace
{

std::vector<peer_place> peers_of_queue_pairs(const host_maps &maps)
{
    std::map<host_key, peer_place> hosts;
    for (std::uint32_t number = 0; number < MRC_MAX_QPS; ++number) {
        const mrc_qp_row qp = maps.qps()[number];
        if (qp.qpn == 0)
            continue;
        if (const auto row = maps.peer(qp.peer))
            hosts.try_emplace(key_of(*row), peer_place{.address = qp.peer, .row = *row, .others = {}});
    }
    const auto peers = std::views::values(hosts);
    return {peers.begin(), peers.end()};
}

} // namespace

chosen_peers choose_peers(const host_maps &maps, const std::string &named)
{
    if (!named.empty())
        return {.peers = {peer_named(maps, named)}, .left_out = 0};
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
