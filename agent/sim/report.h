// SPDX-License-Identifier: Apache-2.0
// The results of a scenario for people and programs. The same runs give the same bytes.
#pragma once

#include <string>
#include <vector>

#include "sim/bounds.h"

namespace mrc::sim
{

struct scenario_results {
    scenario what;
    std::vector<run_result> runs;
    std::vector<bound_verdict> verdicts; // by bound

    [[nodiscard]] bool all_hold() const;
};

[[nodiscard]] scenario_results judge_all(scenario what, std::vector<run_result> runs);

[[nodiscard]] std::string report_text(const scenario_results &results);
[[nodiscard]] std::string report_json(const scenario_results &results);
[[nodiscard]] std::string report_csv(const scenario_results &results); // time series of all runs
// A section of docs/results.md; `plot` is the file name, beside it, of the chart that scripts/plot-results draws.
[[nodiscard]] std::string report_markdown(const scenario_results &results, const std::string &plot);

[[nodiscard]] std::string results_introduction();

} // namespace mrc::sim
