// SPDX-License-Identifier: Apache-2.0
// `mrcctl run`: a command in a cgroup of its own whose sockets are adopted.
#pragma once

#include <string>
#include <vector>

#include "tools/mrcctl/adoption_line.h"

namespace mrc::ctl
{

// Runs it to its end, and passes on the signals that would have ended it. Returns its exit status, 128 + N after signal
// N, 126 or 127 when it cannot be run. Throws ctl_error, before it runs, when its sockets cannot be adopted. Processes
// that outlive the command go on without: they are in the cgroup of mrcctl then.
[[nodiscard]] int run_command(const adoption_line &daemon, const std::vector<std::string> &command, bool binds);

} // namespace mrc::ctl
