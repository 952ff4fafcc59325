// SPDX-License-Identifier: Apache-2.0
#include "service/peer_directory.h"

#include <algorithm>
#include <array>
#include <ranges>

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

namespace
{

// On the worker's thread.
peer_condition condition_of(const datapath::worker_peer &peer)
{
    return {.ports = peer.ports->peer_ports(), .suspected = peer.planes->suspected(), .silent = peer.planes->silent()};
}

} // namespace

peer_hold::~peer_hold()
{
    if (directory_ != nullptr)
        directory_->drop(host_, profile_, worker_);
}

peer_directory::peer_directory(const daemon_config &config, const fabric_rules &rules, kernel::host_tables &tables,
                               kernel::peer_rows &rows, const worker_crew &workers,
                               datapath::shared_path_states &states, std::uint32_t payload_bytes)
    : config_{config}, rules_{rules}, rows_{rows}, workers_{workers}, payload_bytes_{payload_bytes},
      groups_{config, rules, tables, rows, workers, states}
{
    while (own_.size() < workers.size())
        own_.push_back(std::make_unique<datapath::own_host>(rules.address_of(rules.self())));
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
    for (auto &[host, known] : peers_)
        for (const auto &side : known.of_worker) {
            if (!side)
                continue;
            if (side->congestion != nullptr && known.uses.any())
                side->former.push_back(std::move(side->congestion));
            side->congestion = shared_congestion();
            side->peer.congestion = side->congestion.get();
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
                           .host_usid = known.first().host_usid,
                           .chosen = static_cast<__u16>(rules_.chooses_uplinks_to(host.leaf) ? 1 : 0),
                           .address = {},
                           .reserved = 0};
    const std::vector<mrc_ip> addresses = rules_.addresses_of(host);
    const auto set = [&](const mrc_ip &address) {
        mrc_peer_row own = row;
        own.sender = sender_of(known.first(), address);
        write_text(own.address, address);
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
    known.number = last_number_;
    known.of_worker.resize(workers_.size());
    known.queue_pairs.resize(workers_.size());
    known.shared.resize(workers_.size());
    known.of_worker.front() = make(host, known.number, 0, group.of_worker.front());
    if (!write_rows(host, known, group.rows)) {
        if (!group.uses.any())
            groups_.release(std::array{group_key{.leaf = host.leaf}});
        return std::unexpected{full};
    }
    introduce(host, known.first(), 0);
    group.uses.add();
    return &peers_.emplace(host, std::move(known)).first->second;
}

std::unique_ptr<peer_directory::workers_peer> peer_directory::make(host_place host, std::uint32_t number,
                                                                   unsigned worker,
                                                                   const path_groups::workers_group &paths) const
{
    auto made = std::make_unique<workers_peer>();
    made->ports = std::make_unique<protocol::port_status>(
        protocol::port_status_config{.mask_base = config_.wire.port_mask_base,
                                     .first = static_cast<std::uint16_t>(random_seed())},
        *paths.paths);
    made->planes =
        std::make_unique<protocol::peer_planes>(protocol::probe_config{}, *paths.paths, workers_.asker(worker));
    made->congestion = shared_congestion();
    made->peer = {.address = rules_.address_of(host),
                  .host_usid = rules_.host_usid(host),
                  .number = number,
                  .paths = paths.paths.get(),
                  .ports = made->ports.get(),
                  .planes = made->planes.get(),
                  .proofs = paths.proofs.get(),
                  .congestion = made->congestion.get()};
    return made;
}

void peer_directory::introduce(host_place host, const datapath::worker_peer &peer, unsigned worker) const
{
    datapath::worker &to = workers_[worker];
    to.call([&] {
        to.add_peer(peer);
        for (const mrc_ip &address : rules_.addresses_of(host))
            if (!is_same(address, peer.address) && sends_from(address))
                to.add_peer_address(peer, address);
    });
}

peer_directory::workers_peer &peer_directory::of_worker(host_place host, known_peer &known, unsigned worker)
{
    std::unique_ptr<workers_peer> &side = known.of_worker[worker];
    if (side)
        return *side;
    protocol::plane_mask ports;
    workers_.first().call([&] { ports = known.first().ports->peer_ports(); });
    side = make(host, known.number, worker, groups_.of_worker(*groups_.find({.leaf = host.leaf}), worker));
    side->ports->follow(ports);
    introduce(host, side->peer, worker);
    return *side;
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
    return held_peer{.peer = (*known)->first(), .hold = {*this, host, session::built_in_profile, {}}};
}

std::expected<held_peer, peer_refusal> peer_directory::hold(const mrc_ip &address, std::uint64_t profile,
                                                            const control::ev_profile_store &profiles, unsigned worker)
{
    if (rules_.host_of(address) == rules_.self())
        return held_peer{.peer = own_[worker]->peer(), .hold = {}};
    auto held = hold(address);
    if (!held)
        return held;
    const host_place host = rules_.host_of(address).value_or(host_place{});
    known_peer &known_host = peers_.at(host);
    held->peer = of_worker(host, known_host, worker).peer;
    if (profile == session::built_in_profile) {
        add_use(host, known_host, worker);
        held->hold = {*this, host, profile, worker};
        return held;
    }
    const auto known = groups_.of_profile({.leaf = host.leaf, .profile = profile}, profiles);
    if (!known)
        return std::unexpected{known.error()};
    path_groups::known_group &group = **known;
    group.uses.add();
    const path_groups::workers_group &paths = groups_.of_worker(group, worker);
    held->peer.paths = paths.paths.get();
    held->peer.proofs = paths.proofs.get();
    workers_[worker].call([&] { workers_[worker].add_profile_group(held->peer); });
    add_use(host, known_host, worker);
    held->hold = {*this, host, profile, worker};
    return held;
}

void peer_directory::add_use(host_place host, known_peer &known, unsigned worker)
{
    known.uses.add();
    if (known.queue_pairs[worker]++ == 0)
        share_uses(host.leaf);
}

// Who asks the hosts of a leaf besides the workers whose queue pairs go to them: the first, which tells them of this
// host's ports, and those with queue pairs to others there.
void peer_directory::share_uses(std::uint32_t leaf)
{
    if (workers_.size() == 1)
        return;
    const auto from = peers_.lower_bound({.leaf = leaf, .downlink = 0});
    const auto to = std::find_if(from, peers_.end(), [&](const auto &known) { return known.first.leaf != leaf; });
    const std::ranges::subrange hosts{from, to};
    for (unsigned worker = 0; worker < workers_.size(); ++worker) {
        const bool asks = worker == 0 || std::ranges::any_of(hosts, [&](const auto &known) {
                              return known.second.queue_pairs[worker] != 0;
                          });
        for (auto &[host, known] : hosts) {
            const auto is_others = [&](unsigned other) { return other != worker && known.queue_pairs[other] != 0; };
            const bool wanted = asks && std::ranges::any_of(std::views::iota(0U, workers_.size()), is_others);
            if (wanted == known.shared[worker])
                continue;
            known.shared[worker] = wanted;
            const datapath::worker_peer &peer = of_worker(host, known, worker).peer;
            datapath::worker &asker = workers_[worker];
            asker.call([&] { wanted ? asker.connected().add_use(peer) : asker.connected().remove_use(peer); });
        }
    }
}

void peer_directory::drop(host_place host, std::uint64_t profile, std::optional<unsigned> worker)
{
    known_peer &known = peers_.at(host);
    if (worker && --known.queue_pairs[*worker] == 0)
        share_uses(host.leaf);
    use_count &of_peer = known.uses;
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
        gone.peers.push_back(peers_.at(host).first().address);
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
    for (const host_place host : hosts)
        for (const mrc_ip &address : rules_.addresses_of(host))
            rows_.remove_peer(address);
    workers_.call_each([&](unsigned number, datapath::worker &worker) {
        std::vector<datapath::worker_peer> peers;
        for (const host_place host : hosts)
            if (const auto &side = peers_.at(host).of_worker[number])
                peers.push_back(side->peer);
        worker.forget(peers, groups_.known_to(number, groups));
    });
    const std::scoped_lock guard{following_};
    for (const host_place host : hosts) {
        peers_.erase(host);
        conditions_.erase(host);
    }
    groups_.release(groups);
}

// What an engine could not send yet may name any row.
void peer_directory::recycle_rows()
{
    bool unsent = false;
    workers_.call_each([&](unsigned, const datapath::worker &worker) { unsent = unsent || worker.unsent(); });
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
    std::map<host_place, conditions> found;
    workers_.call_each([&](unsigned number, datapath::worker &) {
        for (const auto &[host, known] : peers_)
            if (const auto &side = known.of_worker[number])
                found[host][number] = condition_of(side->peer);
    });
    std::vector<std::pair<mrc_ip, peer_condition>> all;
    all.reserve(found.size());
    for (const auto &[host, known] : found)
        all.emplace_back(peers_.at(host).first().address, merged(known));
    return all;
}

std::vector<host_place> peer_directory::hosts() const
{
    std::vector<host_place> all;
    all.reserve(peers_.size());
    for (const auto &[host, known] : peers_)
        all.push_back(host);
    return all;
}

// What the peer says of its ports it says to the first worker; as long as that has told nothing, all know the same.
peer_condition peer_directory::merged(const conditions &all)
{
    std::optional<peer_condition> sum;
    for (const std::optional<peer_condition> &each : all) {
        if (!each)
            continue;
        if (!sum)
            sum = each;
        sum->suspected = protocol::plane_mask{sum->suspected.bits() | each->suspected.bits()};
        sum->silent = sum->silent || each->silent;
    }
    return sum.value_or(peer_condition{});
}

void peer_directory::follow(unsigned worker, const datapath::worker_peer &peer,
                            const std::function<void(const mrc_ip &, const peer_condition &)> &tell)
{
    const peer_condition found = condition_of(peer);
    const auto host = rules_.host_of(peer.address);
    if (!host)
        return;
    const std::scoped_lock guard{following_}; // told in this order, too
    conditions &known = conditions_[*host];
    known[worker] = found;
    if (worker == 0)
        for (const mrc_ip &address : rules_.addresses_of(*host))
            rows_.set_peer_planes(address, static_cast<std::uint8_t>(found.ports.bits()));
    tell(rules_.address_of(*host), merged(known));
}

void peer_directory::spread_ports(const mrc_ip &address, protocol::plane_mask ports)
{
    const auto host = rules_.host_of(address);
    const auto known = host ? peers_.find(*host) : peers_.end();
    if (known == peers_.end())
        return;
    for (unsigned number = 1; number < workers_.size(); ++number)
        if (const auto &side = known->second.of_worker[number])
            workers_[number].call([&] { side->ports->follow(ports); });
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
