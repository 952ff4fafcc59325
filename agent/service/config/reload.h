// SPDX-License-Identifier: Apache-2.0
// What SIGHUP can change of a running daemon's configuration, and what it cannot.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "service/config/config.h"

namespace mrc::service
{

enum class takes_effect : std::uint8_t {
    at_once,
    in_new_sessions, // in queue pairs of sessions that are opened from then on
    after_restart,
};

// Of an option of a table.
[[nodiscard]] takes_effect when_changed(std::string_view table, std::string_view key);

struct reload_report {
    std::vector<std::string> changed;       // "transport.link_gbps: 10 is now 100, in new sessions"
    std::vector<std::string> needs_restart; // "fabric.planes: stays 2, 4 needs a restart"
    bool congestion_changed = false;        // windows that sessions share must be made anew
};

// Takes over from `fresh`, which has been checked as a whole, what can change while the daemon runs, and the origins of
// all values but those that stay as they were.
[[nodiscard]] reload_report reload_config(daemon_config &current, const daemon_config &fresh);

} // namespace mrc::service
