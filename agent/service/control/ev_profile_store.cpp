// SPDX-License-Identifier: Apache-2.0
#include "service/control/ev_profile_store.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include <fmt/format.h>

#include "protocol/random_source.h"
#include "service/control/ev_profile_job.h"
#include "service/control/transitions.h"

namespace mrc::service::control
{

namespace
{

ev_profile built_in_ev_profile()
{
    ev_profile profile;
    profile.state = session::profile_state::online;
    profile.min_active = 1;
    profile.event_mask = 0;
    return profile;
}

} // namespace

session::ev_state profile_ev::state() const
{
    if (ev.unpopulated())
        return session::ev_state::unknown;
    if (denied)
        return session::ev_state::denied;
    return bad_groups == 0 ? session::ev_state::good : session::ev_state::assumed_bad;
}

ev_profile_store::ev_profile_store(const session::profile_limits &limits, const fabric_shape &fabric,
                                   ev_format_store &formats, profile_effects &effects)
    : limits_{limits}, fabric_{fabric}, formats_{formats}, effects_{effects}
{
    ev_profile profile = built_in_ev_profile();
    const auto evs = automatic_evs(session::built_in_profile, std::size_t{fabric.planes} * fabric.uplinks).value();
    for (const session::ev_value &ev : evs)
        profile.evs.push_back({.ev = ev, .denied = false, .bad_groups = 0, .path = {}});
    // One EV for every path, of a fabric that the configuration has checked: nothing of it can be wrong.
    resolve(profile).value();
    profiles_.emplace(session::built_in_profile, std::move(profile));
}

const ev_profile &ev_profile_store::find(std::uint64_t id) const
{
    static const ev_profile untouched;
    const auto found = profiles_.find(id);
    return found == profiles_.end() ? untouched : found->second;
}

session::outcome<ev_layout> ev_profile_store::layout_of(const ev_profile &profile) const
{
    if (profile.mode == session::ev_mode::automatic)
        return ev_layout::make(formats_.find(session::built_in_profile), std::nullopt, limits_);
    return ev_layout::make(formats_.find(profile.format), profile.fields, limits_);
}

session::outcome<session::ev_state> ev_profile_store::state_of(std::uint64_t id, const session::ev_value &ev) const
{
    const ev_profile &profile = find(id);
    const auto found = std::ranges::find(profile.evs, ev, &profile_ev::ev);
    if (found == profile.evs.end())
        return std::unexpected{session::refusal{ENOENT, "the profile has no such EV"}};
    return found->state();
}

std::size_t ev_profile_store::evs_in_use() const
{
    std::size_t used = 0;
    for (const auto &[id, profile] : profiles_)
        used += profile.mode == session::ev_mode::automatic ? 0 : profile.evs.size();
    return used;
}

session::outcome<> ev_profile_store::acquire(std::uint64_t id)
{
    if (find(id).state != session::profile_state::online)
        return std::unexpected{session::refusal{
            EINVAL, fmt::format("EV profile {} is {}, queue pairs take ONLINE ones", id, text(find(id).state))}};
    ++profiles_[id].queue_pairs;
    return {};
}

std::vector<protocol::profile_entry> ev_profile_store::universe(std::uint64_t id, unsigned uplinks,
                                                                std::uint64_t seed) const
{
    const ev_profile &profile = find(id);
    const bool automatic = profile.mode == session::ev_mode::automatic;
    const bool all_paths = profile.evs.size() == std::size_t{fabric_.planes} * fabric_.uplinks;
    if (profile.state != session::profile_state::online || uplinks != fabric_.uplinks || (automatic && all_paths))
        return {};
    // Where the controller leaves the entropy to us: from 1 on, so that no EV is 0.
    const bool draw = automatic || formats_.find(profile.format).mode == session::ev_format_mode::srv6;
    const std::uint32_t entropies = (1U << (fabric_.ev_bits - MRC_EV_ENTROPY_SHIFT)) - 1;
    std::vector<protocol::profile_entry> entries;
    for (const profile_ev &entry : profile.evs) {
        entries.push_back(entry.path);
        std::uint32_t &ev = entries.back().entropy.value;
        if (draw)
            ev = mrc_ev_make(mrc_ev_plane(ev), mrc_ev_uplink(ev),
                             1 + protocol::random_source{seed + entry.path.slot}.below(entropies));
    }
    std::ranges::sort(entries, {}, &protocol::profile_entry::slot);
    return entries;
}

std::vector<path_place> ev_profile_store::denied(std::uint64_t id) const
{
    std::vector<path_place> places;
    const ev_profile &profile = find(id);
    for (const profile_ev &entry : profile.evs)
        if (entry.denied && profile.state == session::profile_state::online)
            places.push_back({entry.path.plane.value, mrc_ev_uplink(entry.path.entropy.value)});
    return places;
}

profile_ev *ev_profile_store::find_path(ev_profile &profile, path_place where) const
{
    const std::size_t slot = std::size_t{where.plane} * fabric_.uplinks + where.uplink;
    const auto found = std::ranges::find(profile.evs, slot, [](const profile_ev &entry) { return entry.path.slot; });
    return found == profile.evs.end() ? nullptr : &*found;
}

void ev_profile_store::report(std::uint64_t id, const ev_profile &profile, const profile_ev &entry)
{
    const auto state = static_cast<std::uint32_t>(entry.state());
    if ((profile.event_mask.value_or(0) & state) != 0)
        effects_.on_event({.profile = id, .ev = entry.ev, .state = state});
}

void ev_profile_store::observe(std::uint64_t id, std::uint32_t group, path_place where, protocol::path_state state)
{
    const auto at = profiles_.find(id);
    if (at == profiles_.end() || at->second.state != session::profile_state::online)
        return;
    profile_ev *const entry = find_path(at->second, where);
    if (entry == nullptr)
        return;
    std::vector<bool> &held_bad = observed_[{id, group}];
    held_bad.resize(std::size_t{fabric_.planes} * fabric_.uplinks);
    const bool bad = state == protocol::path_state::assumed_bad;
    if (held_bad[entry->path.slot] == bad)
        return;
    held_bad[entry->path.slot] = bad;
    const session::ev_state before = entry->state();
    bad ? ++entry->bad_groups : --entry->bad_groups;
    if (entry->state() != before)
        report(id, at->second, *entry);
}

// After an exchange: paths that stay are what groups believe them to be, under whichever EV.
void ev_profile_store::recount(std::uint64_t id, ev_profile &profile)
{
    std::vector<std::uint32_t> bad_groups(std::size_t{fabric_.planes} * fabric_.uplinks);
    std::vector<bool> there(bad_groups.size());
    for (const profile_ev &entry : profile.evs)
        there[entry.path.slot] = true;
    for (auto &[known, held_bad] : observed_) {
        if (known.first != id)
            continue;
        for (std::size_t slot = 0; slot < held_bad.size(); ++slot) {
            held_bad[slot] = held_bad[slot] && there[slot];
            bad_groups[slot] += held_bad[slot] ? 1 : 0;
        }
    }
    for (profile_ev &entry : profile.evs) {
        const session::ev_state before = entry.state();
        entry.bad_groups = bad_groups[entry.path.slot];
        if (entry.state() != before)
            report(id, profile, entry);
    }
}

void ev_profile_store::forget_group(std::uint64_t id, std::uint32_t group)
{
    const auto at = profiles_.find(id);
    if (at != profiles_.end() && at->second.state == session::profile_state::online)
        for (const profile_ev &entry : at->second.evs)
            observe(id, group, {entry.path.plane.value, mrc_ev_uplink(entry.path.entropy.value)},
                    protocol::path_state::good);
    observed_.erase({id, group});
}

} // namespace mrc::service::control
