// SPDX-License-Identifier: Apache-2.0
#include "service/peer_directory.h"

#include <algorithm>
#include <array>

#include "kernel/program_grace.h"
#include "service/address.h"
#include "service/congestion.h"
#include "service/random_seed.h"

namespace mrc::service
{

namespace
{

constexpr unsigned speaker_bits = 4;

} // namespace

peer_condition condition_of(const datapath::worker_peer &peer)
{
    return {.ports = peer.ports->peer_ports(), .suspected = peer.planes->suspected(), .silent = peer.planes->silent()};
}

peer_hold::~peer_hold()
{
    if (directory_ != nullptr)
        directory_->drop(host_, profile_);
}

peer_directory::peer_directory(const daemon_config &config, const fabric_rules &rules, kernel::host_tables &tables,
                               kernel::peer_rows &rows, datapath::worker &worker, const protocol::local_ports &local,
                               const linked_planes &linked, std::uint32_t payload_bytes)
    : config_{config}, rules_{rules}, rows_{rows}, worker_{worker}, payload_bytes_{payload_bytes},
      groups_{config, rules, tables, worker, local, linked}, own_{rules.address_of(rules.self())}
{
}

std::uint32_t peer_directory::sender_of(const datapath::worker_peer &peer, const mrc_ip &address) const
{
    if (peer.own_host)
        return 0;
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
        if (known.congestion != nullptr && known.uses.any())
            known.former.push_back(std::move(known.congestion));
        known.congestion = shared_congestion();
        known.peer.congestion = known.congestion.get();
    }
}

bool peer_directory::sends_from(const mrc_ip &address) const
{
    return std::ranges::any_of(rules_.sources_of(address),
                               [&](const mrc_ip &source) { return is_same(source, address); });
}

bool peer_directory::write_rows(host_place host, const known_peer &known, const path_group_rows &rows)
{
    const mrc_peer_row row{.sender = 0,
                           .group_base = rows.base,
                           .uplinks = static_cast<__u16>(rows.uplinks),
                           .planes = static_cast<__u8>(rows.planes),
                           .plane_mask = static_cast<__u8>((1U << rows.planes) - 1),
                           .host_usid = known.peer.host_usid,
                           .chosen = static_cast<__u16>(rules_.chooses_uplinks_to(host.leaf) ? 1 : 0)};
    const std::vector<mrc_ip> addresses = rules_.addresses_of(host);
    const auto set = [&](const mrc_ip &address) {
        mrc_peer_row own = row;
        own.sender = sender_of(known.peer, address);
        return rows_.set_peer(address, own);
    };
    if (std::ranges::all_of(addresses, set))
        return true;
    std::ranges::for_each(addresses, [&](const mrc_ip &address) { rows_.remove_peer(address); });
    return false;
}

std::expected<peer_directory::known_peer *, peer_refusal> peer_directory::add(host_place host)
{
    const peer_refusal full{.text = "all " + std::to_string(config_.tables.peers) +
                                    " peers are in use; a larger tables.peers makes room",
                            .is_full = true};
    if (peers_.size() >= config_.tables.peers)
        return std::unexpected{full};
    const auto to_leaf = groups_.to_leaf(host.leaf);
    if (!to_leaf)
        return std::unexpected{to_leaf.error()};
    path_groups::known_group &group = **to_leaf;
    constexpr std::uint32_t numbers = UINT32_MAX >> speaker_bits;
    last_number_ = last_number_ % numbers + 1;
    known_peer known;
    known.ports = std::make_unique<protocol::port_status>(
        protocol::port_status_config{.mask_base = config_.wire.port_mask_base,
                                     .first = static_cast<std::uint16_t>(random_seed())},
        *group.paths);
    known.planes = std::make_unique<protocol::peer_planes>(protocol::probe_config{}, *group.paths);
    known.congestion = shared_congestion();
    known.peer = {.address = rules_.address_of(host),
                  .host_usid = rules_.host_usid(host),
                  .number = last_number_,
                  .paths = group.paths.get(),
                  .ports = known.ports.get(),
                  .planes = known.planes.get(),
                  .proofs = group.proofs.get(),
                  .congestion = known.congestion.get()};
    if (!write_rows(host, known, group.rows)) {
        if (!group.uses.any())
            groups_.release(std::array{group_key{.leaf = host.leaf}});
        return std::unexpected{full};
    }
    worker_.call([&] {
        worker_.add_peer(known.peer);
        for (const mrc_ip &address : rules_.addresses_of(host))
            if (!is_same(address, known.peer.address) && sends_from(address))
                worker_.add_peer_address(known.peer, address);
    });
    group.uses.add();
    return &peers_.emplace(host, std::move(known)).first->second;
}

std::expected<peer_directory::known_peer *, peer_refusal> peer_directory::find_or_add(const mrc_ip &address)
{
    const auto host = rules_.host_of(address);
    if (!host)
        return std::unexpected{peer_refusal{.text = rules_.refusal_of(address)}};
    if (*host == rules_.self())
        return std::unexpected{peer_refusal{.text = to_text(address) + " is this host itself: no path leads there"}};
    const auto known = peers_.find(*host);
    return known != peers_.end() ? &known->second : add(*host);
}

std::expected<held_peer, peer_refusal> peer_directory::hold(const mrc_ip &address)
{
    const auto known = find_or_add(address);
    if (!known)
        return std::unexpected{known.error()};
    (*known)->uses.add();
    const host_place host = rules_.host_of(address).value_or(host_place{});
    return held_peer{.peer = (*known)->peer, .hold = {*this, host, session::built_in_profile}};
}

std::expected<held_peer, peer_refusal> peer_directory::hold(const mrc_ip &address, std::uint64_t profile,
                                                            const control::ev_profile_store &profiles)
{
    if (rules_.host_of(address) == rules_.self())
        return held_peer{.peer = own_.peer(), .hold = {}};
    auto held = hold(address);
    if (!held || profile == session::built_in_profile)
        return held;
    const host_place host = rules_.host_of(address).value_or(host_place{});
    const auto known = groups_.of_profile(held->peer, {.leaf = host.leaf, .profile = profile}, profiles);
    if (!known)
        return std::unexpected{known.error()};
    path_groups::known_group &group = **known;
    group.uses.add();
    held->peer.paths = group.paths.get();
    held->peer.proofs = group.proofs.get();
    peers_.at(host).uses.add();
    held->hold = {*this, host, profile};
    return held;
}

void peer_directory::drop(host_place host, std::uint64_t profile)
{
    use_count &of_peer = peers_.at(host).uses;
    of_peer.remove();
    bool was_last = !of_peer.any();
    if (profile != session::built_in_profile)
        if (path_groups::known_group *group = groups_.find({.leaf = host.leaf, .profile = profile})) {
            group->uses.remove();
            was_last = was_last || !group->uses.any();
        }
    if (was_last && on_unused_)
        on_unused_();
}

bool peer_directory::any_unused() const
{
    return groups_.any_unused() ||
           std::ranges::any_of(peers_, [](const auto &known) { return !known.second.uses.any(); });
}

peer_directory::released peer_directory::release_unused(bool at_once)
{
    if (!at_once) // what rests since the last time: no program runs for so long
        recycle_rows();
    std::vector<host_place> hosts;
    std::vector<group_key> keys = groups_.take_unused(at_once);
    for (auto &[host, known] : peers_)
        if (known.uses.is_over(at_once))
            hosts.push_back(host);
    released gone;
    for (const host_place host : hosts) {
        gone.peers.push_back(peers_.at(host).peer.address);
        path_groups::known_group *group = groups_.find({.leaf = host.leaf});
        group->uses.remove();
        if (!group->uses.any())
            keys.push_back({.leaf = host.leaf});
    }
    forget(hosts, keys);
    if (groups_.any_resting() && kernel::wait_for_programs())
        recycle_rows();
    gone.groups = std::move(keys);
    return gone;
}

void peer_directory::forget(std::span<const host_place> hosts, std::span<const group_key> groups)
{
    if (hosts.empty() && groups.empty())
        return;
    std::vector<datapath::worker_peer> peers;
    for (const host_place host : hosts) {
        peers.push_back(peers_.at(host).peer);
        for (const mrc_ip &address : rules_.addresses_of(host))
            rows_.remove_peer(address);
    }
    std::vector<const protocol::path_group *> paths;
    for (const group_key key : groups)
        paths.push_back(groups_.find(key)->paths.get());
    worker_.call([&] { worker_.forget(peers, paths); });
    for (const host_place host : hosts)
        peers_.erase(host);
    groups_.release(groups);
}

// What an engine could not send yet may name any row.
void peer_directory::recycle_rows()
{
    bool unsent = false;
    worker_.call([&] { unsent = worker_.unsent(); });
    if (!unsent)
        groups_.recycle();
}

void peer_directory::forget_profile(std::uint64_t profile)
{
    if (profile == session::built_in_profile)
        return;
    forget({}, groups_.of(profile));
    if (groups_.any_resting() && on_unused_)
        on_unused_();
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

std::vector<host_place> peer_directory::hosts() const
{
    std::vector<host_place> all;
    for (const auto &[host, known] : peers_)
        all.push_back(host);
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

bool peer_directory::hold_all_if_small()
{
    const std::uint64_t hosts = std::uint64_t{rules_.leaves()} * config_.fabric.hosts_per_leaf;
    if (hosts > config_.tables.peers || hosts * rules_.addresses_of(rules_.self()).size() > most_listed_addresses ||
        !groups_.room_for_all())
        return false;
    for (host_place host{}; host.leaf < rules_.leaves(); ++host.leaf)
        for (host.downlink = 0; host.downlink < config_.fabric.hosts_per_leaf; ++host.downlink) {
            if (host == rules_.self())
                continue;
            if (auto held = hold(rules_.address_of(host)))
                listed_.push_back(std::move(held->hold));
        }
    return true;
}

} // namespace mrc::service
