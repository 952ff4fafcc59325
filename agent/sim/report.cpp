// SPDX-License-Identifier: Apache-2.0
#include "sim/report.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace mrc::sim
{

namespace
{

double metric_of(const run_result &run, const std::string &name)
{
    const auto found = run.metrics.find(name);
    return found == run.metrics.end() ? 0 : found->second;
}

std::string shown_run(const run_result &run)
{
    const std::string label = label_of(run);
    return label.empty() ? "MRC" : label;
}

std::string shown_value(double value)
{
    return fmt::format("{:.4g}", value);
}

} // namespace

bool scenario_results::all_hold() const
{
    return std::ranges::all_of(verdicts, &bound_verdict::holds);
}

scenario_results judge_all(scenario what, std::vector<run_result> runs)
{
    scenario_results results{std::move(what), std::move(runs), {}};
    for (const bound &each : results.what.bounds)
        results.verdicts.push_back(judge(each, results.runs));
    return results;
}

std::string report_text(const scenario_results &results)
{
    std::string out;
    const auto put = std::back_inserter(out);
    fmt::format_to(put, "{}\n", results.what.title);
    std::size_t wide = 8;
    for (const run_result &run : results.runs)
        wide = std::max(wide, shown_run(run).size());
    fmt::format_to(put, "\n{:<{}}", "run", wide);
    for (const std::string &column : results.what.report.columns)
        fmt::format_to(put, "  {:>{}}", column, std::max<std::size_t>(10, column.size()));
    for (const run_result &run : results.runs) {
        fmt::format_to(put, "\n{:<{}}", shown_run(run), wide);
        for (const std::string &column : results.what.report.columns)
            fmt::format_to(put, "  {:>{}}", shown_value(metric_of(run, column)),
                           std::max<std::size_t>(10, column.size()));
    }
    out += "\n\n";
    for (std::size_t i = 0; i < results.verdicts.size(); ++i) {
        const bound &each = results.what.bounds[i];
        const bound_verdict &found = results.verdicts[i];
        fmt::format_to(put, "{}  {:<18} {:<18} {}{}\n", found.holds ? "ok  " : "FAIL",
                       found.problem.empty() ? shown_range(found.measured) : "?", shown_range(each.between), each.what,
                       found.problem.empty() ? "" : " (" + found.problem + ")");
    }
    return out;
}

std::string report_csv(const scenario_results &results)
{
    std::string out = "run,time_us";
    const auto put = std::back_inserter(out);
    for (const std::string &column : results.runs.front().samples.columns)
        fmt::format_to(put, ",{}", column);
    out += "\n";
    for (const run_result &run : results.runs) {
        for (std::size_t i = 0; i < run.samples.at.size(); ++i) {
            fmt::format_to(put, "\"{}\",{:g}", shown_run(run), in_microseconds(run.samples.at[i]));
            for (const double value : run.samples.rows[i])
                fmt::format_to(put, ",{:.3f}", value);
            out += "\n";
        }
    }
    return out;
}

std::string results_introduction()
{
    return R"(<!-- SPDX-License-Identifier: Apache-2.0 -->
# Results in the simulator

The figures of the MRC papers (arXiv 2605.04333, 2606.18170), repeated with this implementation on a simulated fabric:
the protocol code is the one that `mrcd` runs, links and switches are simulated (`agent/sim`). Every bound below is
also a test. This file and its charts are written by

```
build/bin/mrc-sim --report docs tests/sim/scenarios/r*.toml
scripts/plot-results docs/results/*.json
```

RoCE is a baseline of ours: go-back-N, one hashed path per queue pair, DCQCN-like rate control, no PFC
(`agent/sim/roce_queue_pair.h`), with buffers and marks that bring it as near to the paper's RoCE as it gets. Where it stands
beside MRC it shows a shape, not a product.

Bounds have two ends: a figure that is better than can be explained fails as well.

)";
}

std::string report_markdown(const scenario_results &results, const std::string &plot)
{
    std::string out;
    const auto put = std::back_inserter(out);
    fmt::format_to(put, "## {}\n\n", results.what.title);
    if (!results.what.paper.empty())
        fmt::format_to(put, "Paper: {}\n\n", results.what.paper);
    if (!results.what.scale.empty())
        fmt::format_to(put, "Here: {}\n\n", results.what.scale);
    fmt::format_to(put, "![{}]({})\n\n| bound | paper | ours | must be | |\n|---|---|---|---|---|\n",
                   results.what.title, plot);
    for (std::size_t i = 0; i < results.verdicts.size(); ++i) {
        const bound &each = results.what.bounds[i];
        fmt::format_to(put, "| {} | {} | {} | {} | {} |\n", each.what, each.paper,
                       shown_range(results.verdicts[i].measured), shown_range(each.between),
                       results.verdicts[i].holds ? "holds" : "**fails**");
    }
    out += "\n| run |";
    for (const std::string &column : results.what.report.columns)
        fmt::format_to(put, " {} |", column);
    out += "\n|---|";
    for (std::size_t i = 0; i < results.what.report.columns.size(); ++i)
        out += "---|";
    for (const run_result &run : results.runs) {
        fmt::format_to(put, "\n| {} |", shown_run(run));
        for (const std::string &column : results.what.report.columns)
            fmt::format_to(put, " {} |", shown_value(metric_of(run, column)));
    }
    out += "\n\n";
    return out;
}

} // namespace mrc::sim
