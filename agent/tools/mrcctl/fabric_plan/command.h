// SPDX-License-Identifier: Apache-2.0
// The command line of `mrcctl fabric show`.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/mrcctl/commands.h"

namespace mrc::ctl
{

void add_fabric_show(CLI::App &object, invocation &chosen);

} // namespace mrc::ctl
