// SPDX-License-Identifier: Apache-2.0
#include "service/peer_directory.h"

#include <algorithm>

#include <sys/random.h>

#include "service/address.h"
#include "service/congestion.h"

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

peer_condition condition_of(const datapath::worker_peer &peer)
{
    return {.ports = peer.ports->peer_ports(), .suspected = peer.planes->suspected(), .silent = peer.planes->silent()};
}

peer_directory::peer_directory(const daemon_config &config, const fabric_rules &rules, kernel::host_tables &tables,
                               kernel::peer_rows &rows, datapath::worker &worker, const protocol::local_ports &local,
                               const linked_planes &linked, std::uint32_t payload_bytes)
    : config_{config}, rules_{rules}, tables_{tables}, rows_{rows}, worker_{worker}, local_{local}, linked_{linked},
      payload_bytes_{payload_bytes}, table_{rules}
{
}

std::uint32_t peer_directory::slot_of(control::path_place where) const
{
    return where.plane * config_.fabric.uplinks + where.uplink;
}

std::expected<path_group_rows, std::string> peer_directory::rows_for(group_key key)
{
    const auto rows = table_.group_of(key);
    if (rows)
        return *rows;
    return std::unexpected{rows.error() == path_table::refusal::full ? std::string{"all path rows are in use"}
                                                                     : "no leaf " + std::to_string(key.leaf)};
}

peer_directory::known_group peer_directory::make_group(const path_group_rows &rows, const group_terms &terms,
                                                       unsigned id_part) const
{
    auto group = std::make_unique<protocol::path_group>(
        protocol::path_group_config{.planes = rows.planes,
                                    .uplinks = rows.uplinks,
                                    .base = protocol::path_index{rows.base},
                                    .arrivals = protocol::path_index{table_.groups().at({.leaf = rows.leaf}).base},
                                    .active_per_plane =
                                        std::min(config_.transport.active_paths_per_plane, rows.uplinks),
                                    .min_active = terms.min_active,
                                    .ev_bits = rules_.ev_bits(),
                                    .universe = terms.universe,
                                    .probes = {},
                                    .heartbeats = {},
                                    .reverse = {},
                                    .id_part = id_part,
                                    .seed = random_seed()},
        local_, linked_.to(rows.leaf));
    for (const std::uint32_t slot : terms.denied)
        group->deny(slot);
    auto proofs = std::make_unique<protocol::sack_proofs>(group->size());
    return {.paths = std::move(group), .proofs = std::move(proofs), .id_part = id_part};
}

void peer_directory::write_rows(const path_group_rows &rows, const protocol::path_group &group)
{
    const std::vector<mrc_path_row> paths = rules_.paths_of(rows);
    for (std::uint32_t slot = 0; slot < paths.size(); ++slot) {
        mrc_path_row &row = tables_.paths[rows.base + slot];
        row = paths[slot];
        row.ev = group.path(slot).entropy.value;
    }
}

std::expected<protocol::path_group *, std::string> peer_directory::group_for(std::uint32_t leaf)
{
    const group_key key{.leaf = leaf};
    if (const auto known = groups_.find(key); known != groups_.end())
        return known->second.paths.get();
    const auto rows = rows_for(key);
    if (!rows)
        return std::unexpected{rows.error()};
    group_terms terms{.universe = {}, .min_active = config_.transport.min_active, .denied = {}};
    if (leaf != rules_.self().leaf)
        terms.denied.assign(denied_.begin(), denied_.end());
    auto group = make_group(*rows, terms, 0);
    write_rows(*rows, *group.paths);
    return groups_.emplace(key, std::move(group)).first->second.paths.get();
}

std::optional<unsigned> peer_directory::free_id_part(std::uint32_t leaf) const
{
    for (unsigned part = 1; part < protocol::probe_id_parts; ++part)
        if (std::ranges::none_of(
                groups_, [&](const auto &known) { return known.first.leaf == leaf && known.second.id_part == part; }))
            return part;
    return std::nullopt;
}

peer_directory::group_terms peer_directory::terms_of(group_key key, const path_group_rows &rows, std::uint64_t seed,
                                                     const control::ev_profile_store &profiles) const
{
    group_terms terms{.universe = profiles.universe(key.profile, rows.uplinks, seed),
                      .min_active = profiles.find(key.profile).min_active.value_or(config_.transport.min_active),
                      .denied = {}};
    if (key.leaf != rules_.self().leaf)
        for (const control::path_place where : profiles.denied(key.profile))
            terms.denied.push_back(slot_of(where));
    return terms;
}

// Toward the own T0 every profile has one EV for each plane: there is nothing to exchange.
void peer_directory::exchange_evs(std::uint64_t profile, const control::ev_profile_store &profiles)
{
    for (const auto &[key, group] : groups_) {
        const path_group_rows rows = table_.groups().at(key);
        if (key.profile != profile || rows.uplinks != config_.fabric.uplinks || profile == session::built_in_profile)
            continue;
        const group_terms terms = terms_of(key, rows, group.seed, profiles);
        if (terms.universe.empty())
            continue;
        worker_.call([&] {
            group.paths->exchange(terms.universe, terms.denied);
            for (std::uint32_t slot = 0; slot < rows.rows(); ++slot)
                tables_.paths[rows.base + slot].ev = group.paths->path(slot).entropy.value;
        });
    }
}

std::expected<protocol::path_group *, std::string>
peer_directory::profile_group_for(const datapath::worker_peer &peer, group_key key,
                                  const control::ev_profile_store &profiles)
{
    if (const auto known = groups_.find(key); known != groups_.end())
        return known->second.paths.get();
    const auto id_part = free_id_part(key.leaf);
    if (!id_part)
        return std::unexpected{"at most " + std::to_string(protocol::probe_id_parts - 1) +
                               " EV profiles besides 0 are in use toward one leaf"};
    const auto rows = rows_for(key);
    if (!rows)
        return std::unexpected{rows.error()};
    const std::uint64_t seed = random_seed();
    auto group = make_group(*rows, terms_of(key, *rows, seed, profiles), *id_part);
    group.seed = seed;
    write_rows(*rows, *group.paths);
    datapath::worker_peer first = peer;
    first.paths = group.paths.get();
    worker_.call([&] { worker_.add_profile_group(first); });
    return groups_.emplace(key, std::move(group)).first->second.paths.get();
}

void peer_directory::forget_profile(std::uint64_t profile)
{
    if (profile == session::built_in_profile)
        return;
    for (auto known = groups_.begin(); known != groups_.end();) {
        const auto &[key, group] = *known;
        if (key.profile != profile) {
            ++known;
            continue;
        }
        worker_.call([&] { worker_.remove_profile_group(group.paths.get()); });
        const path_group_rows rows = table_.groups().at(key);
        for (std::uint32_t slot = 0; slot < rows.rows(); ++slot)
            tables_.paths[rows.base + slot] = {};
        table_.release(key);
        known = groups_.erase(known);
    }
}

std::uint32_t peer_directory::sender_of(const datapath::worker_peer &peer, const mrc_ip &address) const
{
    constexpr unsigned speaker_bits = 4;
    return peer.number << speaker_bits | rules_.speaker_of(address);
}

std::unique_ptr<protocol::congestion_control> peer_directory::shared_congestion() const
{
    if (config_.transport.scope != congestion_scope::peer)
        return nullptr;
    return make_congestion_control(config_.transport, payload_bytes_, rules_.planes());
}

void peer_directory::renew_congestion()
{
    for (auto &[host, known] : peers_) {
        if (known.congestion != nullptr)
            retired_.push_back(std::move(known.congestion));
        known.congestion = shared_congestion();
        known.peer.congestion = known.congestion.get();
    }
}

bool peer_directory::sends_from(const mrc_ip &address) const
{
    return std::ranges::any_of(rules_.sources_of(address),
                               [&](const mrc_ip &source) { return is_same(source, address); });
}

bool peer_directory::add(host_place host, protocol::path_group &group, const path_group_rows &rows)
{
    known_peer known;
    known.ports = std::make_unique<protocol::port_status>(
        protocol::port_status_config{.mask_base = config_.wire.port_mask_base,
                                     .first = static_cast<std::uint16_t>(random_seed())},
        group);
    known.planes = std::make_unique<protocol::peer_planes>(protocol::probe_config{}, group);
    known.congestion = shared_congestion();
    known.peer = {.address = rules_.address_of(host),
                  .host_usid = rules_.host_usid(host),
                  .number = static_cast<std::uint32_t>(peers_.size() + 1),
                  .paths = &group,
                  .ports = known.ports.get(),
                  .planes = known.planes.get(),
                  .proofs = groups_.at({.leaf = host.leaf}).proofs.get(),
                  .congestion = known.congestion.get()};
    const mrc_peer_row row{.sender = 0,
                           .group_base = rows.base,
                           .uplinks = static_cast<__u16>(rows.uplinks),
                           .planes = static_cast<__u8>(rows.planes),
                           .plane_mask = static_cast<__u8>((1U << rows.planes) - 1),
                           .host_usid = known.peer.host_usid,
                           .reserved = 0};
    const std::vector<mrc_ip> addresses = rules_.addresses_of(host);
    const auto set = [&](const mrc_ip &address) {
        mrc_peer_row own = row;
        own.sender = sender_of(known.peer, address);
        return rows_.set_peer(address, own);
    };
    if (!std::ranges::all_of(addresses, set)) {
        std::ranges::for_each(addresses, [&](const mrc_ip &address) { rows_.remove_peer(address); });
        return false;
    }
    worker_.call([&] {
        worker_.add_peer(known.peer);
        for (const mrc_ip &address : addresses)
            if (!is_same(address, known.peer.address) && sends_from(address))
                worker_.add_peer_address(known.peer, address);
    });
    peers_.emplace(host, std::move(known));
    return true;
}

void peer_directory::set_denied(std::uint64_t profile, std::span<const control::path_verdict> verdicts)
{
    if (profile == session::built_in_profile)
        for (const control::path_verdict &verdict : verdicts) {
            if (verdict.denied)
                denied_.insert(slot_of(verdict.where));
            else
                denied_.erase(slot_of(verdict.where));
        }
    worker_.call([&] {
        for (const auto &[key, group] : groups_) {
            if (key.profile != profile || key.leaf == rules_.self().leaf)
                continue;
            for (const control::path_verdict &verdict : verdicts) {
                if (verdict.denied)
                    group.paths->deny(slot_of(verdict.where));
                else
                    group.paths->allow(slot_of(verdict.where));
            }
        }
    });
}

std::optional<peer_directory::path_location> peer_directory::place_of(protocol::path_index path) const
{
    for (const auto &[key, rows] : table_.groups()) {
        const std::uint32_t slot = path.value - rows.base;
        const auto group = groups_.find(key);
        if (path.value < rows.base || slot >= rows.rows() || group == groups_.end())
            continue;
        path_location where{
            .profile = key.profile, .leaf = key.leaf, .plane = slot / rows.uplinks, .uplink = slot % rows.uplinks};
        for (unsigned other = where.plane * rows.uplinks; other < (where.plane + 1) * rows.uplinks; ++other)
            where.paths += group->second.paths->exists(other) ? 1 : 0;
        return where;
    }
    return std::nullopt;
}

std::vector<std::pair<protocol::path_index, protocol::path_condition>> peer_directory::path_conditions()
{
    std::vector<std::pair<protocol::path_index, protocol::path_condition>> all;
    worker_.call([&] {
        for (const auto &[key, group] : groups_)
            for (unsigned slot = 0; slot < group.paths->size(); ++slot)
                all.emplace_back(group.paths->path(slot).index, group.paths->condition(slot));
    });
    return all;
}

std::vector<std::pair<mrc_ip, peer_condition>> peer_directory::peer_conditions()
{
    std::vector<std::pair<mrc_ip, peer_condition>> all;
    worker_.call([&] {
        for (const auto &[host, known] : peers_)
            all.emplace_back(known.peer.address, condition_of(known.peer));
    });
    return all;
}

void peer_directory::follow_ports(const datapath::worker_peer &peer)
{
    const auto host = rules_.host_of(peer.address);
    if (!host)
        return;
    const auto mask = static_cast<std::uint8_t>(peer.ports->peer_ports().bits());
    for (const mrc_ip &address : rules_.addresses_of(*host))
        rows_.set_peer_planes(address, mask);
}

std::expected<datapath::worker_peer, std::string> peer_directory::find_or_add(const mrc_ip &address)
{
    const auto host = rules_.host_of(address);
    if (!host)
        return std::unexpected{rules_.refusal_of(address)};
    if (*host == rules_.self())
        return std::unexpected{to_text(address) + " is this host itself"};
    if (const auto known = peers_.find(*host); known != peers_.end())
        return known->second.peer;
    const auto group = group_for(host->leaf);
    if (!group)
        return std::unexpected{group.error()};
    if (!add(*host, **group, table_.groups().at({.leaf = host->leaf})))
        return std::unexpected{"all " + std::to_string(MRC_MAX_PEERS) + " peer rows are in use"};
    return peers_.at(*host).peer;
}

std::expected<datapath::worker_peer, std::string>
peer_directory::find_or_add(const mrc_ip &address, std::uint64_t profile, const control::ev_profile_store &profiles)
{
    auto peer = find_or_add(address);
    const auto host = rules_.host_of(address);
    if (!peer || !host || profile == session::built_in_profile)
        return peer;
    const auto group = profile_group_for(*peer, {.leaf = host->leaf, .profile = profile}, profiles);
    if (!group)
        return std::unexpected{group.error()};
    peer->paths = *group;
    peer->proofs = groups_.at({.leaf = host->leaf, .profile = profile}).proofs.get();
    return peer;
}

void peer_directory::add_all_if_small()
{
    const std::uint64_t addresses =
        std::uint64_t{rules_.leaves()} * config_.fabric.hosts_per_leaf * rules_.addresses_of(rules_.self()).size();
    if (addresses > MRC_MAX_PEERS)
        return;
    for (host_place host{}; host.leaf < rules_.leaves(); ++host.leaf)
        for (host.downlink = 0; host.downlink < config_.fabric.hosts_per_leaf; ++host.downlink)
            if (host != rules_.self() && !find_or_add(rules_.address_of(host)))
                return; // path rows are used up: the other hosts are added when a queue pair asks for them
}

} // namespace mrc::service
