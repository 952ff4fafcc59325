// SPDX-License-Identifier: Apache-2.0
// ev_profile_store::modify: attributes, entries, transition.
#include <algorithm>
#include <bit>
#include <cerrno>

#include <fmt/format.h>

#include "service/control/ev_layout.h"
#include "service/control/ev_profile_job.h"
#include "service/control/invalid.h"
#include "service/control/transitions.h"

namespace mrc::service::control
{

namespace
{

bool is_one_of(std::uint32_t value, std::uint32_t mask)
{
    return std::has_single_bit(value) && (value & mask) != 0;
}

} // namespace

ev_edit_result ev_profile_store::modify(std::uint64_t id, const ev_profile_change &change,
                                        const std::optional<ev_edit> &edit)
{
    job call{.id = id,
             .change = change,
             .profile = find(id),
             .to = {},
             .edit = edit ? std::optional{edit->operation} : std::nullopt,
             .count = change.count,
             .judged = {}};
    const auto to = transition_of(call.profile.state, change.state, change.current);
    if (!to)
        return {std::unexpected{to.error()}};
    call.to = *to;
    if (auto allowed = check_allowed(call); !allowed)
        return {allowed};
    if (auto applied = apply_scalars(call); !applied)
        return {applied};
    session::outcome<> result;
    if (edit)
        result = edit_all(call, *edit);
    if (result && call.to)
        result = check_transition(call, *call.to);
    if (result && call.to)
        finish_transition(call, *call.to);
    if (result || edit)
        commit(call);
    return {result, call.done};
}

session::outcome<> ev_profile_store::check_allowed(const job &call) const
{
    const session::profile_state from = call.profile.state;
    const bool replacing = call.edit == session::ev_operation::replace;
    if (call.id == session::built_in_profile &&
        (call.change.offline_only() || call.change.fields || replacing || call.to))
        return invalid("EV profile 0 is built in: only its event mask and the state of its EVs can be changed");
    if (from == session::profile_state::init && call.edit)
        return invalid("the profile is INIT and has no EVs yet");
    if (call.to == session::profile_state::init && call.edit)
        return invalid("the way to INIT forgets the EVs");
    if (call.edit && !replacing && call.edit != session::ev_operation::modify_state)
        return invalid("queries change nothing");
    if (replacing && call.profile.mode != session::ev_mode::listed &&
        call.change.mode != static_cast<std::uint32_t>(session::ev_mode::listed))
        return invalid("only EVs of a profile in mode EXP are replaced");
    const bool sometimes = call.change.event_mask || call.change.fields || replacing;
    const bool modifiable_now = (limits_.modify_ev_online || call.id == session::built_in_profile) && !call.to;
    return check_modifiable(from, call.to, call.change.offline_only() || (sometimes && !modifiable_now), sometimes);
}

session::outcome<> ev_profile_store::apply_scalars(job &call) const
{
    const ev_profile_change &change = call.change;
    ev_profile &profile = call.profile;
    const bool configures = profile.state == session::profile_state::init && call.to == session::profile_state::offline;
    if (configures && !change.mode)
        return invalid("OFFLINE needs the mode");
    if (change.mode) {
        if (!is_one_of(*change.mode, session::ev_modes))
            return invalid("found mode {}, allowed is 1, 2 or 4", *change.mode);
        const auto mode = static_cast<session::ev_mode>(*change.mode);
        if (mode != profile.mode)
            profile.evs.clear();
        profile.mode = mode;
    }
    if (configures && profile.mode != session::ev_mode::automatic && (!change.format || !change.count))
        return invalid("OFFLINE needs the format and the count");
    if (change.format)
        profile.format = *change.format;
    if (change.event_mask) {
        if ((*change.event_mask & ~session::reportable_ev_states) != 0)
            return invalid("found event mask {:#x}, allowed are bits 0x3", *change.event_mask);
        profile.event_mask = change.event_mask;
    }
    if (change.fields)
        profile.fields = change.fields;
    if (change.min_active)
        profile.min_active = change.min_active;
    if (configures || change.shapes_evs())
        if (auto shaped = shape_evs(call); !shaped)
            return shaped;
    const std::uint32_t min_active = profile.min_active.value_or(0);
    if ((profile.state != session::profile_state::init || configures) && min_active > profile.evs.size())
        return invalid("found min_active {}, allowed is 0 to {}, the count", min_active, profile.evs.size());
    return {};
}

// The count as the fabric takes it: as many EVs on every plane.
session::outcome<std::size_t> ev_profile_store::count_for(const job &call) const
{
    const session::ev_mode mode = call.profile.mode;
    const std::size_t paths = std::size_t{fabric_.planes} * fabric_.uplinks;
    if (mode == session::ev_mode::automatic && call.count.value_or(0) == 0)
        return call.count || call.profile.evs.empty() ? paths : call.profile.evs.size();
    const std::size_t asked = call.count ? *call.count : call.profile.evs.size();
    const std::size_t most = mode == session::ev_mode::automatic ? paths : limits_.evs_per_profile;
    if (asked > most)
        return std::unexpected{session::refusal{E2BIG, fmt::format("found count {}, allowed are {} EVs", asked, most)}};
    if (mode == session::ev_mode::listed && asked % fabric_.planes != 0)
        return invalid("found count {}, allowed are multiples of {}", asked, fabric_.planes);
    const std::size_t aligned = asked - asked % fabric_.planes;
    if (aligned == 0)
        return invalid("found count {}, allowed are {} or more", asked, fabric_.planes);
    const ev_profile &known = find(call.id);
    const std::size_t others = evs_in_use() - (known.mode == session::ev_mode::automatic ? 0 : known.evs.size());
    if (mode != session::ev_mode::automatic && others + aligned > limits_.evs)
        return std::unexpected{
            session::refusal{E2BIG, fmt::format("found count {}, {} EVs are left", asked, limits_.evs - others)}};
    return aligned;
}

session::outcome<std::vector<session::ev_value>> ev_profile_store::automatic_evs(std::uint64_t id,
                                                                                 std::size_t count) const
{
    const auto entries = protocol::expand_profile(
        {.mode = protocol::profile_mode::automatic, .list = {}, .fields = {}, .count = static_cast<unsigned>(count)},
        fabric_.planes, fabric_.uplinks, 32, id);
    if (!entries)
        return invalid("{}", protocol::describe(entries.error()).view());
    std::vector<session::ev_value> evs;
    for (const protocol::profile_entry &entry : *entries) {
        session::ev_value ev;
        const std::uint32_t path = mrc_ev_make(entry.plane.value, mrc_ev_uplink(entry.entropy.value), 0);
        for (unsigned byte = 0; byte < sizeof(path); ++byte)
            ev.bits[byte] = static_cast<std::uint8_t>(path >> (24 - 8 * byte));
        ev.port = static_cast<std::uint8_t>(entry.plane.value + 1);
        evs.push_back(ev);
    }
    return evs;
}

// The array anew: listed ones keep what they have, the others keep their EVs' denials.
session::outcome<> ev_profile_store::shape_evs(job &call) const
{
    ev_profile &profile = call.profile;
    const auto layout = layout_of(profile);
    if (!layout)
        return std::unexpected{layout.error()};
    const auto count = count_for(call);
    if (!count)
        return std::unexpected{count.error()};
    if (profile.mode == session::ev_mode::listed) {
        profile.evs.resize(*count);
    } else {
        auto evs =
            profile.mode == session::ev_mode::automatic ? automatic_evs(call.id, *count) : layout->generate(*count);
        if (!evs)
            return std::unexpected{evs.error()};
        std::vector<profile_ev> next;
        next.reserve(evs->size());
        for (session::ev_value &ev : *evs) {
            if (profile.mode == session::ev_mode::generated)
                ev.port = layout->port_of(ev, fabric_.usids);
            const auto known = std::ranges::find(profile.evs, ev, &profile_ev::ev);
            next.push_back({.ev = ev, .denied = known != profile.evs.end() && known->denied, .path = {}});
        }
        profile.evs = std::move(next);
    }
    if (call.online()) {
        call.other_evs = true;
        return resolve(profile);
    }
    return {};
}

session::outcome<> ev_profile_store::edit_all(job &call, const ev_edit &edit) const
{
    if (limits_.entries_per_call != 0 && edit.entries.size() > limits_.entries_per_call)
        return std::unexpected{session::refusal{
            E2BIG, fmt::format("found {} entries, allowed are {}", edit.entries.size(), limits_.entries_per_call)}};
    for (const session::ev_entry &entry : edit.entries) {
        if (auto edited = edit_one(call, edit.operation, entry); !edited)
            return std::unexpected{
                session::refusal{edited.error().code, fmt::format("entry {}: {}", call.done, edited.error().text)}};
        ++call.done;
    }
    return {};
}

session::outcome<> ev_profile_store::edit_one(job &call, session::ev_operation operation,
                                              const session::ev_entry &entry) const
{
    if ((entry.flags & ~session::replace_all_copies) != 0)
        return invalid("found flags {:#x}, allowed is 1", entry.flags);
    if (entry.state != static_cast<std::uint32_t>(session::ev_state::good) &&
        entry.state != static_cast<std::uint32_t>(session::ev_state::denied))
        return invalid("found state {:#x}, allowed are 1 (GOOD) and 4 (DENIED)", entry.state);
    return operation == session::ev_operation::replace ? replace(call, entry) : set_state(call, entry);
}

session::outcome<> ev_profile_store::replace(job &call, const session::ev_entry &entry) const
{
    const auto layout = layout_of(call.profile);
    if (!layout)
        return std::unexpected{layout.error()};
    if (auto right = layout->check(entry.replacement, fabric_.planes); !right)
        return right;
    // The copy is needed where the EVs must make a universe at every moment.
    const std::vector<profile_ev> before = call.online() ? call.profile.evs : std::vector<profile_ev>{};
    bool found = false;
    for (profile_ev &known : call.profile.evs) {
        if (known.ev != entry.subject)
            continue;
        known = {.ev = entry.replacement,
                 .denied = entry.state == static_cast<std::uint32_t>(session::ev_state::denied),
                 .path = {}};
        found = true;
        if ((entry.flags & session::replace_all_copies) == 0)
            break;
    }
    if (!found)
        return std::unexpected{session::refusal{ENOENT, "the profile has no such EV"}};
    if (!call.online())
        return {};
    if (auto right = resolve(call.profile); !right) {
        call.profile.evs = before;
        return right;
    }
    call.other_evs = true;
    return {};
}

session::outcome<> ev_profile_store::set_state(job &call, const session::ev_entry &entry) const
{
    const bool denied = entry.state == static_cast<std::uint32_t>(session::ev_state::denied);
    bool found = false;
    for (std::size_t i = 0; i < call.profile.evs.size(); ++i) {
        profile_ev &known = call.profile.evs[i];
        if (known.ev != entry.subject || known.ev.unpopulated())
            continue;
        found = true;
        if (known.denied != denied) {
            known.denied = denied;
            call.judged.push_back(i);
        }
        if ((entry.flags & session::replace_all_copies) == 0)
            break;
    }
    if (!found)
        return std::unexpected{session::refusal{ENOENT, "the profile has no such EV"}};
    return {};
}

session::outcome<> ev_profile_store::check_transition(job &call, session::profile_state to) const
{
    switch (to) {
    case session::profile_state::online:
        return check_online(call);
    case session::profile_state::offline:
        if (call.online() && call.profile.queue_pairs != 0)
            return std::unexpected{session::refusal{
                EBUSY, fmt::format("{} active queue pairs use the profile", call.profile.queue_pairs)}};
        if (!call.online() && profiles_.size() > limits_.ev_profiles)
            return std::unexpected{
                session::refusal{EIO, fmt::format("there are {} EV profiles already", limits_.ev_profiles)}};
        return {};
    case session::profile_state::init:
        return {};
    }
    return {};
}

session::outcome<> ev_profile_store::check_online(job &call) const
{
    const ev_profile &profile = call.profile;
    if (!profile.min_active || !profile.event_mask)
        return invalid("ONLINE needs min_active and the event mask");
    if (profile.mode != session::ev_mode::automatic &&
        formats_.find(profile.format).state != session::profile_state::online)
        return invalid("ONLINE needs EV format {} to be ONLINE", profile.format);
    if (std::ranges::any_of(profile.evs, [](const profile_ev &entry) { return entry.ev.unpopulated(); }))
        return invalid("ONLINE needs every EV to be populated");
    // The format may have changed since the array was made.
    if (profile.mode == session::ev_mode::generated)
        if (auto shaped = shape_evs(call); !shaped)
            return shaped;
    return resolve(call.profile);
}

session::outcome<> ev_profile_store::resolve(ev_profile &profile) const
{
    std::vector<session::ev_value> evs;
    evs.reserve(profile.evs.size());
    std::ranges::transform(profile.evs, std::back_inserter(evs), &profile_ev::ev);
    if (profile.mode == session::ev_mode::automatic) // any entropy but 0, which no EV may be: its lowest bit
        for (session::ev_value &ev : evs)
            mrc_bit_put(ev.bits.data(), 31 - MRC_EV_ENTROPY_SHIFT, 1);
    const auto layout = layout_of(profile);
    if (!layout)
        return std::unexpected{layout.error()};
    for (const session::ev_value &ev : evs)
        if (auto right = layout->check(ev, fabric_.planes); !right)
            return right;
    const auto paths = layout->paths_of(evs, fabric_);
    if (!paths)
        return std::unexpected{paths.error()};
    for (std::size_t i = 0; i < evs.size(); ++i)
        profile.evs[i].path = (*paths)[i];
    return {};
}

void ev_profile_store::finish_transition(job &call, session::profile_state to)
{
    const bool automatic = call.profile.mode == session::ev_mode::automatic;
    if (to == session::profile_state::online && !automatic)
        formats_.add_online_profile(call.profile.format);
    if (call.online()) {
        if (!automatic)
            formats_.remove_online_profile(call.profile.format);
        std::erase_if(observed_, [&](const auto &known) { return known.first.first == call.id; });
        for (profile_ev &entry : call.profile.evs)
            entry.bad_groups = 0;
    }
    call.profile.state = to;
}

void ev_profile_store::commit(job &call)
{
    if (find(call.id).state == session::profile_state::online && !call.online())
        effects_.gone_offline(call.id);
    if (call.profile.state == session::profile_state::init) {
        profiles_.erase(call.id);
        return;
    }
    ev_profile &profile = profiles_[call.id] = std::move(call.profile);
    if (profile.state != session::profile_state::online)
        return;
    if (call.other_evs) {
        recount(call.id, profile);
        effects_.universe_changed(call.id);
    }
    std::vector<path_verdict> verdicts;
    for (const std::size_t i : call.judged) {
        const profile_ev &entry = profile.evs[i];
        verdicts.push_back({{entry.path.plane.value, mrc_ev_uplink(entry.path.entropy.value)}, entry.denied});
    }
    if (verdicts.empty())
        return;
    effects_.set_denied(call.id, verdicts);
    for (const std::size_t i : call.judged)
        report(call.id, profile, profile.evs[i]);
}

} // namespace mrc::service::control
