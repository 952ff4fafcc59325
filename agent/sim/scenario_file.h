// SPDX-License-Identifier: Apache-2.0
// Scenarios from TOML: docs/mrc-sim.1 describes every key.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario.h"

namespace mrc::sim
{

struct scenario_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Throws scenario_error: file, line, column, key, what was found and what is allowed.
[[nodiscard]] scenario load_scenario(const std::string &path);

[[nodiscard]] scenario parse_scenario(std::string_view text, const std::string &file);
// Takes away all variants but these, and the bounds that need others. Throws scenario_error where one does not exist.
void keep_variants(scenario &of, const std::vector<std::string> &names);

} // namespace mrc::sim
