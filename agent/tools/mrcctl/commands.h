// SPDX-License-Identifier: Apache-2.0
// The command line of mrcctl: objects, their commands, and what each does with the maps or with the daemon. A new
// command is one function in commands.cpp, or control_commands.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tools/mrcctl/adoption_line.h"
#include "tools/mrcctl/device.h"
#include "tools/mrcctl/maps.h"

namespace mrc::ctl
{

// Those of the instance that is meant, as it is now: daemons come and go. Throws ctl_error.
using map_opener = std::function<host_maps()>;

struct invocation {
    std::string instance; // empty: MRC_INSTANCE, or the only one
    bool json = false;
    // One of these is set, and returns the exit status: a view of the maps, many of maps that are opened for each of
    // them, requests to the daemon, or what makes one.
    std::function<int(const host_maps &)> run;
    std::function<int(const map_opener &)> serve;
    std::function<int(const controller_device &)> control;
    std::function<int(const adoption_line &)> adopt;
    std::function<int()> local; // needs no daemon
};

// The exit status when nothing is left to do: --help, --version, completions for a shell, or a wrong command line (2,
// told on standard error).
[[nodiscard]] std::optional<int> parse_command_line(int argc, char **argv, invocation &to);

} // namespace mrc::ctl
