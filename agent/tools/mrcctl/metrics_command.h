// SPDX-License-Identifier: Apache-2.0
// mrcctl metrics: on standard output, into a file for node_exporter, or to whoever scrapes.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/mrcctl/commands.h"

namespace mrc::ctl
{

void add_metrics(CLI::App &app, invocation &chosen);

} // namespace mrc::ctl
