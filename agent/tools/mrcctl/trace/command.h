// SPDX-License-Identifier: Apache-2.0
// `mrcctl trace`.
#pragma once

#include "tools/mrcctl/command_line.h"

namespace mrc::ctl
{

void add_trace(CLI::App &app, invocation &chosen);

} // namespace mrc::ctl
