// SPDX-License-Identifier: Apache-2.0
#include "service/path_groups.h"

#include <algorithm>

#include "protocol/random_source.h"
#include "service/random_seed.h"

namespace mrc::service
{

path_groups::path_groups(const daemon_config &config, const fabric_rules &rules, kernel::host_tables &tables,
                         kernel::peer_rows &listing, const worker_crew &workers, datapath::shared_path_states &states)
    : config_{config}, rules_{rules}, tables_{tables}, listing_{listing}, workers_{workers}, states_{states},
      table_{rules, static_cast<std::uint32_t>(tables.paths.size())}
{
}

std::uint32_t path_groups::fabric_uplinks_to(std::uint32_t leaf) const
{
    return leaf == rules_.self().leaf ? 1 : config_.fabric.uplinks;
}

std::optional<std::uint32_t> path_groups::slot_of(const path_group_rows &rows, control::path_place where) const
{
    const std::uint32_t slot = where.plane * rows.uplinks + where.uplink % rows.uplinks;
    return tables_.paths[rows.base + slot].uplink == where.uplink ? std::optional{slot} : std::nullopt;
}

std::expected<path_group_rows, peer_refusal> path_groups::rows_for(group_key key, std::uint32_t uplinks)
{
    const auto rows = table_.group_of(key, uplinks);
    if (rows)
        return *rows;
    if (rows.error() == path_table::refusal::no_such_leaf)
        return std::unexpected{peer_refusal{.text = "no leaf " + std::to_string(key.leaf)}};
    return std::unexpected{
        peer_refusal{.text = "all " + std::to_string(capacity()) +
                             " path rows are in use; a larger tables.paths, or a smaller fabric.paths, makes room",
                     .is_full = true}};
}

// Those of the rows' uplinks, with entropy of this host's own.
std::vector<protocol::profile_entry> path_groups::built_in_evs(const path_group_rows &rows, std::uint64_t seed) const
{
    if (rows.uplinks == fabric_uplinks_to(rows.leaf))
        return {};
    protocol::random_source random{seed};
    const std::uint32_t entropies = (1U << (rules_.ev_bits() - MRC_EV_ENTROPY_SHIFT)) - 1;
    std::vector<protocol::profile_entry> evs;
    for (std::uint32_t number = 0; number < rows.planes; ++number)
        for (std::uint32_t row = 0; row < rows.uplinks; ++row) {
            const protocol::plane_index plane{static_cast<std::uint8_t>(number)};
            const std::uint32_t uplink = rules_.uplink_of(rows, plane, row);
            evs.push_back(
                {.entropy = protocol::ev{mrc_ev_make(number, uplink, 1 + random.below(entropies))}, .plane = plane});
        }
    return protocol::in_rows(std::move(evs), rows.uplinks);
}

std::vector<protocol::profile_entry> path_groups::evs_of(group_key key, std::uint32_t uplinks, std::uint64_t seed,
                                                         const control::ev_profile_store &profiles) const
{
    return protocol::in_rows(profiles.universe(key.profile, fabric_uplinks_to(key.leaf), seed), uplinks);
}

std::vector<std::uint16_t> path_groups::arrival_slots(const known_group &by, const path_group_rows &rows,
                                                      std::span<const protocol::profile_entry> universe) const
{
    if (by.rows.uplinks == rows.uplinks && rows.uplinks == fabric_uplinks_to(rows.leaf))
        return {};
    std::vector<std::uint16_t> slots(by.rows.rows(), protocol::no_slot);
    for (std::uint32_t row = 0; row < by.rows.rows(); ++row) {
        const mrc_path_row &path = tables_.paths[by.rows.base + row];
        const std::uint32_t slot = path.plane * rows.uplinks + path.uplink % rows.uplinks;
        const auto entry = std::ranges::find(universe, slot, &protocol::profile_entry::slot);
        const bool every_uplink = rows.uplinks == fabric_uplinks_to(rows.leaf);
        if (every_uplink || (entry != universe.end() && mrc_ev_uplink(entry->entropy.value) == path.uplink))
            slots[row] = static_cast<std::uint16_t>(slot);
    }
    return slots;
}

path_groups::known_group &path_groups::make(group_key key, const path_group_rows &rows, const group_terms &terms)
{
    known_group made;
    made.rows = rows;
    made.id_part = terms.id_part;
    made.seed = terms.seed;
    made.of_worker.resize(workers_.size());
    const bool own_arrivals = terms.arrivals == nullptr;
    made.terms = {.planes = rows.planes,
                  .uplinks = rows.uplinks,
                  .base = protocol::path_index{rows.base},
                  .arrivals = protocol::path_index{own_arrivals ? rows.base : terms.arrivals->rows.base},
                  .arrival_slots = own_arrivals ? std::vector<std::uint16_t>{}
                                                : arrival_slots(*terms.arrivals, rows, terms.universe),
                  .active_per_plane = std::min(config_.transport.active_paths_per_plane, rows.uplinks),
                  .min_active = terms.min_active,
                  .ev_bits = rules_.ev_bits(),
                  .universe = terms.universe,
                  .probes = {},
                  .heartbeats = {},
                  .reverse = {},
                  .id_part = terms.id_part};
    if (made.terms.universe.empty()) // the entropy of each path is the same for all workers: it has one row
        made.terms.universe =
            protocol::expand_profile({}, rows.planes, rows.uplinks, rules_.ev_bits(), random_seed()).value();
    add_to_worker(made, 0);
    write_rows(made);
    list(key, made);
    by_base_.emplace(rows.base, key);
    return groups_.emplace(key, std::move(made)).first->second;
}

// Each has a random subset of its own in use.
void path_groups::add_to_worker(known_group &group, unsigned worker)
{
    protocol::path_group_config terms = group.terms;
    terms.who = workers_.asker(worker);
    terms.seed = random_seed();
    terms.trace = workers_[worker].trace();
    worker_ports &ports = workers_.ports(worker);
    workers_group &made = group.of_worker[worker];
    made.paths = std::make_unique<protocol::path_group>(terms, ports.local, ports.linked.to(group.rows.leaf));
    made.proofs = std::make_unique<protocol::sack_proofs>(made.paths->size());
}

path_groups::workers_group &path_groups::of_worker(known_group &group, unsigned worker)
{
    workers_group &known = group.of_worker[worker];
    if (known.paths)
        return known;
    add_to_worker(group, worker);
    workers_.first().call([&] {
        for (unsigned slot = 0; slot < group.paths().size(); ++slot)
            if (group.paths().exists(slot) && group.paths().state(slot) == protocol::path_state::denied)
                known.paths->deny(slot);
    });
    return known;
}

std::vector<const protocol::path_group *> path_groups::known_to(unsigned worker, std::span<const group_key> keys)
{
    std::vector<const protocol::path_group *> all;
    for (const group_key key : keys)
        if (const auto *paths = groups_.at(key).of_worker[worker].paths.get())
            all.push_back(paths);
    return all;
}

void path_groups::list(group_key key, const known_group &group)
{
    mrc_paths_in_use row{.rows = group.rows.rows(), .group = key.leaf, .profile = key.profile, .host = {}};
    write_text(row.host, rules_.sole_host(key.leaf));
    listing_.set_paths(group.rows.base, row);
}

// The signals are those of whoever had the rows before.
void path_groups::write_rows(const known_group &group)
{
    for (std::uint32_t slot = 0; slot < group.rows.rows(); ++slot) {
        const protocol::path_choice path = group.paths().path(slot);
        const std::uint32_t uplink =
            group.paths().exists(slot) ? mrc_ev_uplink(path.entropy.value) : slot % group.rows.uplinks;
        mrc_path_row &row = tables_.paths[path.index.value];
        row = rules_.path_of(group.rows, path.plane, uplink);
        row.ev = path.entropy.value;
        datapath::write_state(tables_.paths, path.index, group.paths().state(slot));
        tables_.signals[path.index.value] = {};
    }
}

std::expected<path_groups::known_group *, peer_refusal> path_groups::to_leaf(std::uint32_t leaf)
{
    const group_key key{.leaf = leaf};
    if (known_group *known = find(key))
        return known;
    const auto rows = rows_for(key, rules_.uplinks_to(leaf));
    if (!rows)
        return std::unexpected{rows.error()};
    const std::uint64_t seed = random_seed();
    known_group &made = make(
        key, *rows, {.universe = built_in_evs(*rows, seed), .min_active = config_.transport.min_active, .seed = seed});
    if (leaf != rules_.self().leaf && (!denied_.empty() || !left_.empty()))
        apply_denied(leaf, made.rows, made.paths());
    return &made;
}

std::optional<unsigned> path_groups::free_id_part(std::uint32_t leaf) const
{
    for (unsigned part = 1; part < protocol::probe_id_parts; ++part) {
        const auto first = groups_.lower_bound({.leaf = leaf});
        const auto last = groups_.lower_bound({.leaf = leaf + 1});
        if (std::none_of(first, last, [&](const auto &known) { return known.second.id_part == part; }))
            return part;
    }
    return std::nullopt;
}

std::expected<path_groups::known_group *, peer_refusal>
path_groups::of_profile(group_key key, const control::ev_profile_store &profiles)
{
    if (known_group *known = find(key))
        return known;
    const auto id_part = free_id_part(key.leaf);
    if (!id_part)
        return std::unexpected{peer_refusal{.text = "at most " + std::to_string(protocol::probe_id_parts - 1) +
                                                    " EV profiles besides 0 are in use toward one leaf",
                                            .is_full = true}};
    const control::ev_profile &profile = profiles.find(key.profile);
    std::uint32_t uplinks = fabric_uplinks_to(key.leaf);
    if (uplinks == config_.fabric.uplinks && profile.mode == session::ev_mode::automatic)
        uplinks = static_cast<std::uint32_t>(profile.evs.size() / rules_.planes());
    const auto rows = rows_for(key, uplinks);
    if (!rows)
        return std::unexpected{rows.error()};
    const std::uint64_t seed = random_seed();
    known_group &made = make(key, *rows,
                             {.universe = evs_of(key, uplinks, seed, profiles),
                              .min_active = profile.min_active.value_or(config_.transport.min_active),
                              .id_part = *id_part,
                              .seed = seed,
                              .arrivals = find({.leaf = key.leaf})});
    if (key.leaf != rules_.self().leaf)
        for (const control::path_place where : profiles.denied(key.profile))
            if (const auto slot = slot_of(*rows, where))
                made.paths().deny(*slot);
    return &made;
}

path_groups::known_group *path_groups::find(group_key key)
{
    const auto known = groups_.find(key);
    return known == groups_.end() ? nullptr : &known->second;
}

std::vector<group_key> path_groups::take_unused(bool at_once)
{
    std::vector<group_key> unused;
    for (auto &[key, group] : groups_)
        if (key.profile != session::built_in_profile && group.uses.is_over(at_once))
            unused.push_back(key);
    return unused;
}

std::vector<path_group_rows> path_groups::rows() const
{
    std::vector<path_group_rows> all;
    all.reserve(groups_.size());
    for (const auto &[key, group] : groups_)
        all.push_back(group.rows);
    return all;
}

bool path_groups::any_unused() const
{
    return any_resting() || std::ranges::any_of(groups_, [](const auto &known) {
               return known.first.profile != session::built_in_profile && !known.second.uses.any();
           });
}

std::vector<group_key> path_groups::of(std::uint64_t profile) const
{
    std::vector<group_key> keys;
    for (const auto &[key, group] : groups_)
        if (key.profile == profile)
            keys.push_back(key);
    return keys;
}

void path_groups::release(std::span<const group_key> keys)
{
    for (const group_key key : keys) {
        const path_group_rows rows = groups_.at(key).rows;
        listing_.remove_paths(rows.base);
        for (std::uint32_t slot = 0; slot < rows.rows(); ++slot) {
            tables_.paths[rows.base + slot] = {};
            states_.forget(protocol::path_index{rows.base + slot});
        }
        table_.release(key);
        by_base_.erase(rows.base);
        groups_.erase(key);
    }
}

bool path_groups::room_for_all() const
{
    std::uint64_t rows = 0;
    for (std::uint32_t leaf = 0; leaf < rules_.leaves() && rows <= capacity(); ++leaf)
        rows += std::uint64_t{rules_.planes()} * rules_.uplinks_to(leaf);
    return rows <= capacity();
}

// Toward the own T0 every profile has one EV for each plane: there is nothing to exchange.
void path_groups::exchange_evs(std::uint64_t profile, const control::ev_profile_store &profiles)
{
    for (auto &[key, group] : groups_) {
        if (key.profile != profile || key.leaf == rules_.self().leaf || profile == session::built_in_profile)
            continue;
        const path_group_rows &rows = group.rows;
        const std::vector<protocol::profile_entry> universe = evs_of(key, rows.uplinks, group.seed, profiles);
        if (universe.empty())
            continue;
        std::vector<std::uint32_t> denied;
        for (const control::path_place where : profiles.denied(profile))
            if (const auto slot = slot_of(rows, where))
                denied.push_back(*slot);
        group.terms.universe = universe;
        workers_.call_each([&](unsigned number, datapath::worker &) {
            protocol::path_group *paths = group.of_worker[number].paths.get();
            if (paths == nullptr)
                return;
            paths->exchange(universe, denied);
            for (std::uint32_t slot = 0; slot < rows.rows(); ++slot)
                tables_.paths[rows.base + slot].ev = paths->path(slot).entropy.value;
        });
    }
}

void path_groups::apply_denied(std::uint32_t leaf, const path_group_rows &rows, protocol::path_group &paths) const
{
    for (unsigned plane = 0; plane < rows.planes; ++plane) {
        std::vector<std::uint32_t> unwanted;
        std::uint32_t in_use = 0;
        const std::uint32_t first = plane * rows.uplinks;
        for (std::uint32_t slot = first; slot < first + rows.uplinks; ++slot) {
            if (!paths.exists(slot))
                continue;
            const unsigned uplink = tables_.paths[rows.base + slot].uplink;
            if (denied_.contains({plane, uplink})) {
                paths.deny(slot);
                continue;
            }
            ++in_use;
            if (left_.contains({.plane = plane, .uplink = uplink}) ||
                left_.contains({.plane = plane, .uplink = uplink, .leaf = leaf}))
                unwanted.push_back(slot);
            else
                paths.allow(slot);
        }
        for (const std::uint32_t slot : unwanted)
            if (in_use > config_.fabric_map.min_spines) {
                paths.deny(slot);
                --in_use;
            } else {
                paths.allow(slot);
            }
    }
}

void path_groups::set_left(std::set<left_path> left)
{
    left_ = std::move(left);
    on_all([&](group_key key, const known_group &group, protocol::path_group &paths) {
        if (key.profile == session::built_in_profile && key.leaf != rules_.self().leaf)
            apply_denied(key.leaf, group.rows, paths);
    });
}

void path_groups::set_denied(std::uint64_t profile, std::span<const control::path_verdict> verdicts)
{
    if (profile == session::built_in_profile)
        for (const control::path_verdict &verdict : verdicts) {
            const std::pair place{verdict.where.plane, verdict.where.uplink};
            if (verdict.denied)
                denied_.insert(place);
            else
                denied_.erase(place);
        }
    on_all([&](group_key key, const known_group &group, protocol::path_group &paths) {
        if (key.profile != profile || key.leaf == rules_.self().leaf)
            return;
        if (profile == session::built_in_profile) {
            apply_denied(key.leaf, group.rows, paths);
            return;
        }
        for (const control::path_verdict &verdict : verdicts) {
            const auto slot = slot_of(group.rows, verdict.where);
            if (slot && verdict.denied)
                paths.deny(*slot);
            else if (slot)
                paths.allow(*slot);
        }
    });
}

std::optional<path_groups::path_location> path_groups::place_of(protocol::path_index path) const
{
    const auto after = by_base_.upper_bound(path.value);
    if (after == by_base_.begin())
        return std::nullopt;
    const group_key key = std::prev(after)->second;
    const known_group &group = groups_.at(key);
    if (path.value - group.rows.base >= group.rows.rows())
        return std::nullopt;
    const mrc_path_row &row = tables_.paths[path.value];
    path_location where{.profile = key.profile, .leaf = key.leaf, .plane = row.plane, .uplink = row.uplink};
    for (unsigned slot = where.plane * group.rows.uplinks; slot < (where.plane + 1) * group.rows.uplinks; ++slot)
        where.paths += group.paths().exists(slot) ? 1 : 0;
    return where;
}

std::vector<std::pair<protocol::path_index, protocol::path_condition>> path_groups::conditions()
{
    std::map<std::uint32_t, protocol::path_condition> worst;
    on_all([&](group_key, const known_group &, protocol::path_group &paths) {
        for (unsigned slot = 0; slot < paths.size(); ++slot) {
            const protocol::path_condition found = paths.condition(slot);
            const auto [known, is_new] = worst.try_emplace(paths.path(slot).index.value, found);
            if (known->second.state < found.state)
                known->second = found;
        }
    });
    std::vector<std::pair<protocol::path_index, protocol::path_condition>> all;
    all.reserve(worst.size());
    for (const auto &[row, condition] : worst)
        all.emplace_back(protocol::path_index{row}, condition);
    return all;
}

} // namespace mrc::service
