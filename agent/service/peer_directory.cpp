// SPDX-License-Identifier: Apache-2.0
#include "service/peer_directory.h"

#include <algorithm>

#include <sys/random.h>

#include "service/address.h"

namespace mrc::service
{

namespace
{

std::uint64_t random_seed()
{
    std::uint64_t seed = 0;
    [[maybe_unused]] const ssize_t got = ::getrandom(&seed, sizeof(seed), 0); // 8 bytes are never cut short
    return seed;
}

} // namespace

peer_directory::peer_directory(const daemon_config &config, const fabric &rules, datapath::host_programs &programs,
                               datapath::worker &worker, const protocol::plane_mask &local)
    : config_{config}, rules_{rules}, programs_{programs}, worker_{worker}, local_{local}, table_{rules}
{
}

std::expected<protocol::path_group *, std::string> peer_directory::group_for(std::uint32_t leaf)
{
    if (const auto known = groups_.find(leaf); known != groups_.end())
        return known->second.get();
    const auto rows = table_.group_of(leaf);
    if (!rows)
        return std::unexpected{rows.error() == path_table::refusal::full ? std::string{"all path rows are in use"}
                                                                         : "no leaf " + std::to_string(leaf)};
    auto group = std::make_unique<protocol::path_group>(
        protocol::path_group_config{.planes = rows->planes,
                                    .uplinks = rows->uplinks,
                                    .base = protocol::path_index{rows->base},
                                    .active_per_plane =
                                        std::min(config_.transport.active_paths_per_plane, rows->uplinks),
                                    .min_active = config_.transport.min_active,
                                    .probes = {},
                                    .heartbeats = {},
                                    .seed = random_seed()},
        local_);
    const std::vector<mrc_path> paths = rules_.paths_of(*rows);
    for (std::uint32_t slot = 0; slot < paths.size(); ++slot) {
        mrc_path &row = programs_.paths()[rows->base + slot];
        row = paths[slot];
        row.ev = group->path(slot).entropy.value;
    }
    return groups_.emplace(leaf, std::move(group)).first->second.get();
}

bool peer_directory::add(endpoint host, protocol::path_group &group, const path_group &rows)
{
    const datapath::worker_peer peer{
        .address = rules_.address_of(host), .host_usid = fabric::host_usid(host), .paths = &group};
    const mrc_peer row{.id = static_cast<__u32>(peers_.size() + 1),
                       .group_base = rows.base,
                       .uplinks = static_cast<__u16>(rows.uplinks),
                       .planes = static_cast<__u8>(rows.planes),
                       .plane_mask = static_cast<__u8>((1U << rows.planes) - 1),
                       .host_usid = peer.host_usid,
                       .reserved = 0};
    std::vector<mrc_ip> addresses{peer.address};
    for (std::uint8_t plane = 0; plane < rules_.planes(); ++plane)
        addresses.push_back(rules_.address_of(host, protocol::plane{plane}));
    if (!std::ranges::all_of(addresses, [&](const mrc_ip &address) { return programs_.set_peer(address, row); })) {
        std::ranges::for_each(addresses, [&](const mrc_ip &address) { programs_.remove_peer(address); });
        return false;
    }
    worker_.call([&] { worker_.add_peer(peer); });
    peers_.emplace(host, peer);
    return true;
}

std::expected<datapath::worker_peer, std::string> peer_directory::find_or_add(const mrc_ip &address)
{
    const auto host = rules_.endpoint_of(address);
    if (!host)
        return std::unexpected{to_text(address) + " is no address of this fabric (prefix " +
                               to_text(config_.fabric.address_prefix) + ")"};
    if (*host == rules_.self())
        return std::unexpected{to_text(address) + " is this host itself"};
    if (const auto known = peers_.find(*host); known != peers_.end())
        return known->second;
    const auto group = group_for(host->leaf);
    if (!group)
        return std::unexpected{group.error()};
    if (!add(*host, **group, table_.groups().at(host->leaf)))
        return std::unexpected{"all " + std::to_string(MRC_MAX_PEERS) + " peer rows are in use"};
    return peers_.at(*host);
}

void peer_directory::add_all_if_small()
{
    const std::uint64_t addresses =
        std::uint64_t{rules_.leaves()} * config_.fabric.hosts_per_leaf * (rules_.planes() + 1U);
    if (addresses > MRC_MAX_PEERS)
        return;
    for (endpoint host{}; host.leaf < rules_.leaves(); ++host.leaf)
        for (host.downlink = 0; host.downlink < config_.fabric.hosts_per_leaf; ++host.downlink)
            if (host != rules_.self() && !find_or_add(rules_.address_of(host)))
                return; // path rows are used up: the other hosts are added when a queue pair asks for them
}

} // namespace mrc::service
