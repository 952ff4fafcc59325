// SPDX-License-Identifier: Apache-2.0
// Every key of a scenario file; docs/mrc-sim.1 describes them.
#pragma once

#include "options/table.h"
#include "sim/scenario.h"

namespace mrc::sim
{

struct scenario_text {
    scenario to;
    variant base; // what variants begin as
};

[[nodiscard]] const options::table_of<scenario_text> &scenario_options();

} // namespace mrc::sim
