// SPDX-License-Identifier: Apache-2.0
// The command of mrcctl that needs no daemon, because it makes a daemon's configuration.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/mrcctl/commands.h"

namespace mrc::ctl
{

void add_setup(CLI::App &app, invocation &chosen);

} // namespace mrc::ctl
