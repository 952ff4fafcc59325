// SPDX-License-Identifier: Apache-2.0
// Scenarios from TOML: docs/mrc-sim.1 describes every key.
#pragma once

#include <string>

#include "sim/scenario.h"

namespace mrc::sim
{

// Throws scenario_error (scenario_reader.h).
[[nodiscard]] scenario load_scenario(const std::string &path);
[[nodiscard]] scenario parse_scenario(std::string_view text, const std::string &file);

} // namespace mrc::sim
