// SPDX-License-Identifier: Apache-2.0
// `mrcctl hosts`: the names of peers, and a block with them in a hosts file.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/mrcctl/commands.h"

namespace mrc::ctl
{

void add_hosts_command(CLI::App &app, invocation &chosen);

} // namespace mrc::ctl
