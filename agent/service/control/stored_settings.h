// SPDX-License-Identifier: Apache-2.0
// What a controller has set, as it outlives the daemon: all that mrc_ctl.h can change, and nothing that the daemon
// finds out by itself (which EVs it takes to be bad, what is up). How it stands in a file: settings_text.h.
//
// Who wins at a start, when the configuration says something, too:
// a profile that the configuration names   the configuration's definition; of the stored one, which EVs are denied
// one that it named when it was stored     forgotten with it
// a built-in profile                       built in; which EVs are denied, and the event mask
// every other profile, the ports           as stored
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/types.h"
#include "service/control/cc_profile_store.h"
#include "service/control/ev_format_store.h"
#include "service/control/ev_profile_store.h"

namespace mrc::service::control
{

struct stored_ev {
    session::ev_value value;
    bool denied = false;

    friend bool operator==(const stored_ev &, const stored_ev &) = default;
};

struct stored_ev_format {
    std::uint64_t id = 0;
    session::profile_state state = session::profile_state::offline;
    session::ev_format_mode mode = session::ev_format_mode::stev;
    std::vector<std::uint8_t> widths;
};

struct stored_ev_profile {
    std::uint64_t id = 0;
    session::profile_state state = session::profile_state::offline;
    session::ev_mode mode = session::ev_mode::automatic;
    std::uint64_t format = session::built_in_profile;
    std::uint32_t count = 0;
    std::optional<std::uint32_t> min_active;
    std::optional<std::uint32_t> event_mask;
    std::optional<std::vector<mrc_ev_field>> fields;
    bool is_defined_elsewhere = false; // built in, or in the configuration: what counts is which EVs are denied
    std::vector<stored_ev> evs;        // of mode listed, all that are populated; else those that are denied
};

struct stored_cc_profile {
    std::uint64_t id = 0;
    session::profile_state state = session::profile_state::offline;
    bool nscc = false;
    bool configured = false; // else the constants are of no account
    session::nscc_values config;
};

struct stored_settings {
    std::vector<unsigned> disabled_ports; // 1-based
    std::vector<stored_ev_format> ev_formats;
    std::vector<stored_ev_profile> ev_profiles;
    std::vector<stored_cc_profile> cc_profiles;
};

// What the configuration defines.
struct configured_profiles {
    std::vector<std::uint64_t> ev;
    std::vector<std::uint64_t> cc;
};

struct setting_stores {
    ev_format_store &formats;
    ev_profile_store &evs;
    cc_profile_store &ccs;
};

// Profiles that are OFFLINE and could not be made again, because their format has changed since, are left out: neither
// would they go ONLINE as they are. `enabled` of so many ports.
[[nodiscard]] stored_settings settings_of(const setting_stores &stores, const configured_profiles &configured,
                                          protocol::plane_mask enabled, unsigned ports);

// Into stores that hold what is built in and what the configuration says. The error names what a store refuses; what
// came before it has been done, so it is tried on stores of its own first (check_settings). Ports are only checked.
[[nodiscard]] session::outcome<> restore(const stored_settings &settings, const setting_stores &stores, unsigned ports);

} // namespace mrc::service::control
