// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/mrcctl/commands.h"

namespace CLI
{
class App;
}

namespace mrc::ctl
{

// `mrcctl diagnose`: the exit status is 1 when something is at fault.
void add_diagnose(CLI::App &app, invocation &chosen);

} // namespace mrc::ctl
