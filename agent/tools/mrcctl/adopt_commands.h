// SPDX-License-Identifier: Apache-2.0
// The commands for ordinary sockets: `run`, and those of `adopt`.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/mrcctl/commands.h"

namespace mrc::ctl
{

void add_run(CLI::App &app, invocation &chosen);
void add_adopt(CLI::App &app, invocation &chosen);

} // namespace mrc::ctl
