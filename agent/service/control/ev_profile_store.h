// SPDX-License-Identifier: Apache-2.0
// EV profiles (mrc_ctl_modify_ev_profile): which EVs a QP's packets take, and which of them are denied.
//
// What a step of the life cycle (transitions.h) asks for:
// INIT to OFFLINE    MODE, and unless AUTO FMT_ID and COUNT; other attributes come with it, entries do not
// OFFLINE to ONLINE  MIN_ACTIVE and EVENT_MASK, by now or before; format ONLINE, EVs populated
// OFFLINE to INIT    nothing else in the call
// ONLINE to OFFLINE  no QPs (EBUSY)
// What may be changed in a state:
// OFFLINE            attributes, fields, entries: REPLACE if listed, STATE
// ONLINE             entries: STATE; with modify_ev_online EVENT_MASK, fields, REPLACE
// Everything else is EINVAL; to name the present state is no transition.
//
// A call does its attributes first, then its entries in their order, then the transition. A call without entries that
// is refused changes nothing. One with entries stops at the first that fails: what came before it stays.
//
// Profile 0 is built in: AUTO, ONLINE; its EVs can be denied and its event mask set, nothing else. The EVs of an AUTO
// profile name a path and leave the entropy, which differs per destination, zero.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "protocol/paths/ev_profile.h"
#include "protocol/paths/path_group.h"
#include "service/control/ev_format_store.h"
#include "service/control/ev_layout.h"
#include "session/ev_event_queue.h"
#include "session/values.h"

namespace mrc::service::control
{

struct profile_ev {
    session::ev_value ev;
    bool denied = false;
    std::uint32_t bad_groups = 0; // destinations (T0s) that take it to be bad
    protocol::profile_entry path; // when ONLINE

    [[nodiscard]] session::ev_state state() const;
};

struct ev_profile {
    session::profile_state state = session::profile_state::init;
    session::ev_mode mode = session::ev_mode::automatic;
    std::uint64_t format = session::built_in_profile;
    std::optional<std::uint32_t> min_active;
    std::optional<std::uint32_t> event_mask;
    std::optional<std::vector<mrc_ev_field>> fields; // without: the format's, see ev_layout
    std::vector<profile_ev> evs;
    unsigned queue_pairs = 0;
};

struct ev_profile_change {
    std::optional<std::uint32_t> state = std::nullopt;
    std::optional<std::uint32_t> current = std::nullopt;
    std::optional<std::uint32_t> mode = std::nullopt;
    std::optional<std::uint64_t> format = std::nullopt;
    std::optional<std::uint32_t> count = std::nullopt;
    std::optional<std::uint32_t> min_active = std::nullopt;
    std::optional<std::uint32_t> event_mask = std::nullopt;
    std::optional<std::vector<mrc_ev_field>> fields = std::nullopt;

    [[nodiscard]] bool offline_only() const { return mode || format || count || min_active; }
    [[nodiscard]] bool shapes_evs() const { return mode || format || count || fields; }
};

struct ev_edit {
    session::ev_operation operation = session::ev_operation::replace; // replace or modify_state
    std::span<const session::ev_entry> entries;
};

struct ev_edit_result {
    session::outcome<> result;
    std::uint32_t done = 0; // entries that were carried out
};

struct path_verdict {
    path_place where;
    bool denied = false;
};

// What profiles do to running traffic. Calls come while a store changes: they may read it, not change it.
class profile_effects
{
public:
    profile_effects() = default;
    profile_effects(const profile_effects &) = delete;
    profile_effects &operator=(const profile_effects &) = delete;
    virtual ~profile_effects() = default;

    // Of an ONLINE profile: in every path group that it serves, toward all other T0s.
    virtual void set_denied(std::uint64_t profile, std::span<const path_verdict> verdicts) = 0;
    // An ONLINE profile has other EVs (modify_ev_online), and says which of them are denied.
    virtual void universe_changed(std::uint64_t profile) = 0;
    // No QP uses the profile, and none can before it is ONLINE again, by whatever EVs.
    virtual void gone_offline(std::uint64_t profile) = 0;
    virtual void on_event(const session::ev_event &event) = 0;
};

class ev_profile_store
{
public:
    // All is borrowed and outlives the store.
    ev_profile_store(const session::profile_limits &limits, const fabric_shape &fabric, ev_format_store &formats,
                     profile_effects &effects);

    ev_edit_result modify(std::uint64_t id, const ev_profile_change &change, const std::optional<ev_edit> &edit);
    // Of an id that nobody has touched: INIT.
    [[nodiscard]] const ev_profile &find(std::uint64_t id) const;
    [[nodiscard]] const std::map<std::uint64_t, ev_profile> &all() const { return profiles_; }
    [[nodiscard]] session::outcome<ev_layout> layout_of(const ev_profile &profile) const;
    [[nodiscard]] session::outcome<session::ev_state> state_of(std::uint64_t id,
                                                               const session::ev_value &ev) const; // ENOENT
    [[nodiscard]] std::size_t evs_in_use() const; // of listed and generated profiles

    // A QP begins and ends to use a profile; EINVAL unless it is ONLINE.
    session::outcome<> acquire(std::uint64_t id);
    void release(std::uint64_t id) { --profiles_.at(id).queue_pairs; }

    // For path_group_config of a group with so many uplinks; empty: one EV for every path. Toward the own T0, where
    // there is no uplink to choose, always that. Of one `seed` a path has one entropy, whichever others there are.
    [[nodiscard]] std::vector<protocol::profile_entry> universe(std::uint64_t id, unsigned uplinks,
                                                                std::uint64_t seed) const;
    [[nodiscard]] std::vector<path_place> denied(std::uint64_t id) const;

    // What the path group toward a T0 believes of a path now; also for all its paths, when transitions were lost.
    void observe(std::uint64_t id, std::uint32_t group, path_place where, protocol::path_state state);
    void forget_group(std::uint64_t id, std::uint32_t group);

private:
    struct job; // one call of modify

    [[nodiscard]] session::outcome<> check_allowed(const job &call) const;
    [[nodiscard]] session::outcome<> apply_scalars(job &call) const;
    [[nodiscard]] session::outcome<std::size_t> count_for(const job &call) const;
    [[nodiscard]] session::outcome<> shape_evs(job &call) const;
    [[nodiscard]] session::outcome<std::vector<session::ev_value>> automatic_evs(std::uint64_t id,
                                                                                 std::size_t count) const;
    [[nodiscard]] session::outcome<> edit_all(job &call, const ev_edit &edit) const;
    [[nodiscard]] session::outcome<> edit_one(job &call, session::ev_operation operation,
                                              const session::ev_entry &entry) const;
    [[nodiscard]] session::outcome<> replace(job &call, const session::ev_entry &entry) const;
    [[nodiscard]] session::outcome<> set_state(job &call, const session::ev_entry &entry) const;
    [[nodiscard]] session::outcome<> check_transition(job &call, session::profile_state to) const;
    [[nodiscard]] session::outcome<> check_online(job &call) const;
    [[nodiscard]] session::outcome<> resolve(ev_profile &profile) const;
    void commit(job &call);
    void recount(std::uint64_t id, ev_profile &profile);
    void finish_transition(job &call, session::profile_state to);
    [[nodiscard]] profile_ev *find_path(ev_profile &profile, path_place where) const;
    void report(std::uint64_t id, const ev_profile &profile, const profile_ev &entry);

    const session::profile_limits &limits_;
    const fabric_shape fabric_;
    ev_format_store &formats_;
    profile_effects &effects_;
    std::map<std::uint64_t, ev_profile> profiles_;                                  // none is INIT
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::vector<bool>> observed_; // profile and group: slots held bad
};

} // namespace mrc::service::control
