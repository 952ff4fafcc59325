// SPDX-License-Identifier: Apache-2.0
// The commands that go through libmrc to the daemon: a controller's, see mrc_ctl.h.
#pragma once

#include "tools/mrcctl/commands.h"

namespace CLI
{
class App;
}

namespace mrc::ctl
{

void add_ev_profile(CLI::App &app, invocation &chosen);
void add_ev_format(CLI::App &app, invocation &chosen);
void add_cc_profile(CLI::App &app, invocation &chosen);
void add_probe(CLI::App &app, invocation &chosen);
// `enable` and `disable` of the object `port`.
void add_port_switches(CLI::App &object, invocation &chosen);

} // namespace mrc::ctl
