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
    double measured = 0; // of the run that is nearest to failing
    bool holds = false;
    std::string problem; // why nothing could be measured
};

[[nodiscard]] bound_verdict judge(const bound &what, const std::vector<run_result> &runs);
// ">= 0.95"
[[nodiscard]] std::string shown_bound(const bound &what);

} // namespace mrc::sim
