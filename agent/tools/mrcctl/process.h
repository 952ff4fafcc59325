// SPDX-License-Identifier: Apache-2.0
// Whether the daemon that pinned the maps still lives, from /proc: it need not answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mrc/abi/maps.h"

namespace mrc::ctl
{

struct daemon_process {
    std::uint32_t pid = 0;
    bool alive = false;
    std::string_view state = "dead"; // "running", "stopped" (by a signal or a debugger) or "dead"
    double uptime_s = 0;             // since the maps were pinned; 0 when dead
};

// Of the text of /proc/PID/stat: state letter and start, in clock ticks since boot.
struct process_stat {
    char state = 'X';
    std::uint64_t start_ticks = 0;
};
[[nodiscard]] process_stat parse_stat(std::string_view text);

// A process of that number that started later than the daemon is another one.
[[nodiscard]] daemon_process look_at_daemon(const mrc_host_row &host);
// Of one that does not run, a line that says so, with what that means for the numbers of its maps; empty: it runs.
[[nodiscard]] std::string state_remark(std::string_view instance, const daemon_process &daemon);

} // namespace mrc::ctl
