// SPDX-License-Identifier: Apache-2.0
// Runs of a scenario against the bounds that it states.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/scenario.h"
#include "sim/simulation.h"

namespace mrc::sim
{

// Every run of the scenario: variants x losses x sizes. `progress` gets the run's label and its share done.
[[nodiscard]] std::vector<run_result> run_scenario(const scenario &what, std::optional<std::uint64_t> seed,
                                                   const std::function<void(const std::string &, double)> &progress);

// "RoCE, 1 QP, loss 0.1 %, 64M"
[[nodiscard]] std::string label_of(const run_result &run);
[[nodiscard]] std::string shown_bytes(std::uint64_t bytes);

struct bound_verdict {
    value_range measured; // by the runs that the bound is for
    bool holds = false;
    std::string problem; // why nothing could be measured
};

[[nodiscard]] bound_verdict judge(const bound &what, const std::vector<run_result> &runs);
// "0.95 to 1.02", or "0" where that is all
[[nodiscard]] std::string shown_range(const value_range &range);

} // namespace mrc::sim
