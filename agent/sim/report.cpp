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

// One line per variant and loss, sizes along x.
void add_sizes(const scenario_results &results, chart &to)
{
    to.log_x = true;
    to.x_label = "bytes";
    to.y_label = results.what.report.y_label;
    for (const run_result &run : results.runs) {
        const std::uint64_t size = run.bytes.value_or(0);
        if (std::ranges::find(to.x_names, static_cast<double>(size), &std::pair<double, std::string>::first) ==
            to.x_names.end())
            to.x_names.emplace_back(static_cast<double>(size), shown_bytes(size));
        run_result of_line;
        of_line.variant = run.variant;
        of_line.loss = run.loss;
        const std::string name = shown_run(of_line);
        auto line = std::ranges::find(to.lines, name, &chart_line::name);
        if (line == to.lines.end()) {
            to.lines.push_back({name, {}, run.variant != results.runs.front().variant});
            line = std::prev(to.lines.end());
        }
        line->points.emplace_back(static_cast<double>(size), metric_of(run, results.what.report.y_metric));
    }
}

void add_time(const scenario_results &results, chart &to)
{
    to.x_label = "time in ms";
    to.y_label = "received, Gb/s";
    for (const run_result &run : results.runs) {
        if (run.seed && *run.seed != results.runs.front().seed)
            continue; // one of several that differ in nothing else
        for (std::size_t column = 0; column < run.samples.flow_series; ++column) {
            const std::string label = label_of(run);
            const std::string &series = run.samples.columns[column];
            chart_line line;
            line.name = label;
            if (label.empty() || run.samples.flow_series != 1)
                line.name.append(label.empty() ? "" : ", ").append(series);
            line.dashed = run.variant != results.runs.front().variant;
            for (std::size_t i = 0; i < run.samples.at.size(); ++i)
                line.points.emplace_back(in_microseconds(run.samples.at[i]) / 1000, run.samples.rows[i][column]);
            to.lines.push_back(std::move(line));
        }
    }
}

} // namespace

bool scenario_results::all_hold() const
{
    return std::ranges::all_of(verdicts, &verdict::holds);
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
        const verdict &found = results.verdicts[i];
        fmt::format_to(put, "{}  {:<10} {:<16} {}{}\n", found.holds ? "ok  " : "FAIL",
                       found.problem.empty() ? shown_value(found.measured) : "?", shown_bound(each), each.what,
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

chart report_chart(const scenario_results &results)
{
    chart result;
    result.title = results.what.title;
    if (!results.runs.front().bytes)
        add_time(results, result);
    else
        add_sizes(results, result);
    return result;
}

std::string results_introduction()
{
    return R"(<!-- SPDX-License-Identifier: Apache-2.0 -->
# Results in the simulator

The figures of the MRC papers (arXiv 2605.04333, 2606.18170), repeated with this implementation on a simulated fabric:
the protocol code is the one that `mrcd` runs, links and switches are simulated (`agent/sim`). Every bound below is
also a test. This file and its plots are written by

```
build/bin/mrc-sim --report docs tests/sim/scenarios/*.toml
```

RoCE is a baseline of ours: go-back-N, one hashed path per queue pair, DCQCN-like rate control, no PFC
(`agent/sim/roce_queue_pair.h`). Where it stands beside MRC it shows a shape, not a product.

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
                       shown_value(results.verdicts[i].measured), shown_bound(each),
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
