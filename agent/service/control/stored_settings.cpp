// SPDX-License-Identifier: Apache-2.0
#include "service/control/stored_settings.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "mrc/abi/maps.h"
#include "service/control/invalid.h"

namespace mrc::service::control
{

namespace
{

constexpr auto offline = static_cast<std::uint32_t>(session::profile_state::offline);
constexpr auto online = static_cast<std::uint32_t>(session::profile_state::online);

bool can_be_made_again(const ev_profile_store &store, const ev_profile &profile)
{
    const auto layout = store.layout_of(profile);
    if (!layout)
        return false;
    if (profile.mode == session::ev_mode::generated)
        return layout->generate(profile.evs.size()).has_value();
    return std::ranges::all_of(profile.evs, [&](const profile_ev &entry) {
        return entry.ev.unpopulated() || layout->check(entry.ev, MRC_MAX_PORTS);
    });
}

bool has(const std::vector<std::uint64_t> &ids, std::uint64_t id)
{
    return std::ranges::find(ids, id) != ids.end();
}

stored_ev_profile stored(std::uint64_t id, const ev_profile &profile)
{
    stored_ev_profile to{.id = id,
                         .state = profile.state,
                         .mode = profile.mode,
                         .format = profile.format,
                         .count = static_cast<std::uint32_t>(profile.evs.size()),
                         .min_active = profile.min_active,
                         .event_mask = profile.event_mask,
                         .fields = profile.fields,
                         .evs = {}};
    for (const profile_ev &entry : profile.evs)
        if (!entry.ev.unpopulated() && (entry.denied || profile.mode == session::ev_mode::listed))
            to.evs.push_back({.value = entry.ev, .denied = entry.denied});
    return to;
}

session::outcome<> named(std::string_view what, std::uint64_t id, const session::outcome<> &result)
{
    if (result)
        return result;
    return std::unexpected{
        session::refusal{result.error().code, fmt::format("{} {}: {}", what, id, result.error().text)}};
}

// OFFLINE with all that it is made of, and then ONLINE, if it was.
template <typename Store, typename Change, typename Stored>
session::outcome<> put(Store &store, const Stored &from, const Change &all)
{
    auto made = store.modify(from.id, all);
    Change go;
    go.state = online;
    return made && from.state == session::profile_state::online ? store.modify(from.id, go) : made;
}

session::outcome<> make(const stored_ev_format &from, ev_format_store &formats)
{
    ev_format_change change;
    change.state = offline;
    change.mode = static_cast<std::uint32_t>(from.mode);
    if (!from.widths.empty())
        change.widths = from.widths;
    return put(formats, from, change);
}

session::outcome<> define(const stored_ev_profile &from, ev_profile_store &evs)
{
    ev_profile_change change;
    change.state = offline;
    change.mode = static_cast<std::uint32_t>(from.mode);
    change.format = from.format;
    change.count = from.count;
    change.min_active = from.min_active;
    change.event_mask = from.event_mask;
    change.fields = from.fields;
    if (auto made = evs.modify(from.id, change, std::nullopt); !made.result)
        return made.result;
    std::vector<session::ev_entry> entries;
    if (from.mode == session::ev_mode::listed)
        for (const stored_ev &ev : from.evs) {
            entries.emplace_back().replacement = ev.value;
            entries.back().state =
                static_cast<std::uint32_t>(ev.denied ? session::ev_state::denied : session::ev_state::good);
        }
    const ev_edit fill{session::ev_operation::replace, entries};
    if (!entries.empty())
        if (auto filled = evs.modify(from.id, {}, fill); !filled.result)
            return filled.result;
    if (from.state != session::profile_state::online)
        return {};
    ev_profile_change go;
    go.state = online;
    return evs.modify(from.id, go, std::nullopt).result;
}

// EVs that the profile does not have any more are nobody's loss: the fabric has shrunk, or the configuration changed.
session::outcome<> deny(const stored_ev_profile &from, ev_profile_store &evs)
{
    std::vector<session::ev_entry> entries;
    for (const stored_ev &ev : from.evs) {
        if (!ev.denied || !evs.state_of(from.id, ev.value))
            continue;
        entries.emplace_back().subject = ev.value;
        entries.back().state = static_cast<std::uint32_t>(session::ev_state::denied);
    }
    if (entries.empty())
        return {};
    return evs.modify(from.id, {}, ev_edit{session::ev_operation::modify_state, entries}).result;
}

session::outcome<> make(const stored_ev_profile &from, ev_profile_store &evs)
{
    if (evs.find(from.id).state == session::profile_state::init) {
        if (from.is_defined_elsewhere)
            return {};
        if (auto defined = define(from, evs); !defined)
            return defined;
    }
    if (from.id == session::built_in_profile) {
        ev_profile_change events;
        events.event_mask = from.event_mask;
        if (auto set = evs.modify(from.id, events, std::nullopt); !set.result)
            return set.result;
    }
    return deny(from, evs);
}

session::outcome<> make(const stored_cc_profile &from, cc_profile_store &ccs)
{
    cc_profile_change change;
    change.state = offline;
    change.algorithm = from.nscc ? session::nscc_algorithm : "";
    if (from.configured)
        change.config = from.config;
    return put(ccs, from, change);
}

} // namespace

stored_settings settings_of(const setting_stores &stores, const configured_profiles &configured,
                            protocol::plane_mask enabled, unsigned ports)
{
    stored_settings settings;
    for (unsigned port = 1; port <= ports; ++port)
        if (!enabled.has(protocol::plane_index{static_cast<std::uint8_t>(port - 1)}))
            settings.disabled_ports.push_back(port);
    for (const auto &[id, format] : stores.formats.all())
        if (id != session::built_in_profile)
            settings.ev_formats.push_back(
                {.id = id, .state = format.state, .mode = format.mode, .widths = format.widths});
    for (const auto &[id, profile] : stores.evs.all()) {
        const bool elsewhere = id == session::built_in_profile || has(configured.ev, id);
        if (!elsewhere && profile.state != session::profile_state::online && !can_be_made_again(stores.evs, profile))
            continue;
        settings.ev_profiles.push_back(stored(id, profile));
        settings.ev_profiles.back().is_defined_elsewhere = elsewhere;
    }
    for (const auto &[id, profile] : stores.ccs.all())
        if (id != session::built_in_profile && !has(configured.cc, id))
            settings.cc_profiles.push_back({.id = id,
                                            .state = profile.state,
                                            .nscc = profile.nscc,
                                            .configured = profile.config.has_value(),
                                            .config = profile.config.value_or(session::nscc_values{})});
    return settings;
}

session::outcome<> restore(const stored_settings &settings, const setting_stores &stores, unsigned ports)
{
    for (const unsigned port : settings.disabled_ports)
        if (port == 0 || port > ports)
            return invalid("port {}: allowed is 1 to {}", port, ports);
    for (const stored_ev_format &format : settings.ev_formats)
        if (auto made = named("EV format", format.id, make(format, stores.formats)); !made)
            return made;
    for (const stored_ev_profile &profile : settings.ev_profiles)
        if (auto made = named("EV profile", profile.id, make(profile, stores.evs)); !made)
            return made;
    for (const stored_cc_profile &profile : settings.cc_profiles) {
        if (stores.ccs.find(profile.id).state != session::profile_state::init)
            continue; // the configuration's
        if (auto made = named("CC profile", profile.id, make(profile, stores.ccs)); !made)
            return made;
    }
    return {};
}

} // namespace mrc::service::control
