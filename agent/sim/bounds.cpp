// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds.h"

#include <algorithm>
#include <cmath>
#include <expected>
#include <limits>

#include <fmt/format.h>

namespace mrc::sim
{

namespace
{

using value_or_problem = std::expected<double, std::string>;

bool matches(const run_selector &wanted, const run_result &run)
{
    return (!wanted.variant || *wanted.variant == run.variant) && (!wanted.loss || wanted.loss == run.loss) &&
           (!wanted.bytes || wanted.bytes == run.bytes);
}

// The columns of a bound's series or watch.
std::expected<std::pair<std::size_t, std::size_t>, std::string> columns_of(const bound &what,
                                                                           const time_series &samples)
{
    const std::string &name = what.watch.empty() ? what.series : what.watch;
    if (name.empty())
        return std::pair{std::size_t{0}, samples.flow_series};
    const auto found = std::ranges::find(samples.columns, name);
    if (found == samples.columns.end())
        return std::unexpected{"no series " + name};
    const auto index = static_cast<std::size_t>(found - samples.columns.begin());
    return std::pair{index, index + 1};
}

// Of the samples whose interval lies within `part`: "goodput" their mean, "goodput_least" the least.
value_or_problem sampled(const bound &what, const run_result &run, const window &part, bool least)
{
    const auto columns = columns_of(what, run.samples);
    if (!columns)
        return std::unexpected{columns.error()};
    double sum = 0;
    double minimum = std::numeric_limits<double>::max();
    double count = 0;
    for (std::size_t i = 0; i < run.samples.at.size(); ++i) {
        const picoseconds begin = i == 0 ? 0 : run.samples.at[i - 1];
        if (begin < part.from || run.samples.at[i] > part.to)
            continue;
        double value = 0;
        for (std::size_t column = columns->first; column < columns->second; ++column)
            value += run.samples.rows[i][column];
        sum += value;
        minimum = std::min(minimum, value);
        ++count;
    }
    if (count == 0)
        return std::unexpected{std::string{"no sample in that part of the run"}};
    return least ? minimum : sum / count;
}

value_or_problem value_of(const bound &what, const run_result &run)
{
    const bool least = what.metric == "goodput_least";
    if (what.metric != "goodput" && !least) {
        const auto found = run.metrics.find(what.metric);
        if (found == run.metrics.end())
            return std::unexpected{"no metric " + what.metric};
        if (!std::isfinite(found->second))
            return std::unexpected{what.metric + " is not a number"};
        return found->second;
    }
    const auto value = sampled(what, run, what.in.value_or(window{0, std::numeric_limits<picoseconds>::max()}), least);
    if (!value || !what.baseline)
        return value;
    const auto baseline = sampled(what, run, *what.baseline, false);
    if (!baseline || *baseline == 0)
        return std::unexpected{baseline ? std::string{"the baseline is 0"} : baseline.error()};
    return *value / *baseline;
}

// The run to divide by: as `run`, but with what `over` says; of the same seed, or the only one.
const run_result *counterpart(const run_selector &over, const run_result &run, const std::vector<run_result> &runs)
{
    const run_selector wanted{over.variant ? over.variant : run.variant, over.loss ? over.loss : run.loss,
                              over.bytes ? over.bytes : run.bytes};
    const auto found = std::ranges::find_if(
        runs, [&](const run_result &each) { return matches(wanted, each) && (!each.seed || each.seed == run.seed); });
    return found == runs.end() ? nullptr : &*found;
}

value_or_problem relative_value(const bound &what, const run_result &run, const std::vector<run_result> &runs)
{
    auto value = value_of(what, run);
    if (!value || !what.over)
        return value;
    const run_result *other = counterpart(*what.over, run, runs);
    if (other == nullptr)
        return std::unexpected{std::string{"no run to compare with"}};
    const auto divisor = value_of(what, *other);
    if (!divisor || *divisor == 0)
        return std::unexpected{divisor ? std::string{"the run to compare with has 0"} : divisor.error()};
    return *value / *divisor;
}

struct planned_run {
    const variant *which = nullptr;
    std::optional<double> loss;
    std::optional<std::uint64_t> bytes;
    unsigned seed = 0; // after the first
};

std::vector<planned_run> plan_of(const scenario &what)
{
    std::vector<planned_run> plan;
    for (const variant &which : what.variants) {
        std::vector<std::optional<double>> losses{which.losses.begin(), which.losses.end()};
        std::vector<std::optional<std::uint64_t>> sizes{which.sizes.begin(), which.sizes.end()};
        losses.resize(std::max<std::size_t>(1, losses.size()));
        sizes.resize(std::max<std::size_t>(1, sizes.size()));
        for (const auto &loss : losses)
            for (const auto &bytes : sizes)
                for (unsigned i = 0; i < which.seeds; ++i)
                    plan.push_back({&which, loss, bytes, i});
    }
    return plan;
}

} // namespace

std::string shown_bytes(std::uint64_t bytes)
{
    if (bytes >= 1 << 20 && bytes % (1 << 20) == 0)
        return fmt::format("{} MiB", bytes >> 20);
    if (bytes >= 1 << 10 && bytes % (1 << 10) == 0)
        return fmt::format("{} KiB", bytes >> 10);
    return fmt::format("{} B", bytes);
}

std::string label_of(const run_result &run)
{
    std::string label = run.variant;
    const auto add = [&label](const std::string &text) { label += (label.empty() ? "" : ", ") + text; };
    if (run.loss)
        add(fmt::format("loss {:g} %", *run.loss * 100));
    if (run.bytes)
        add(shown_bytes(*run.bytes));
    if (run.seed)
        add(fmt::format("seed {}", *run.seed));
    return label;
}

std::vector<run_result> run_scenario(const scenario &what, std::optional<std::uint64_t> seed,
                                     const std::function<void(const std::string &, double)> &progress)
{
    const std::vector<planned_run> plan = plan_of(what);
    std::vector<run_result> runs;
    for (const planned_run &each : plan) {
        run_config config = each.which->config;
        config.seed = seed.value_or(config.seed) + each.seed;
        config.fabric.loss = each.loss.value_or(config.fabric.loss);
        config.traffic.bytes = each.bytes.value_or(config.traffic.bytes);
        run_result result;
        result.variant = each.which->name;
        result.loss = each.loss;
        result.bytes = each.bytes;
        if (each.which->seeds > 1)
            result.seed = config.seed;
        const std::string label = label_of(result);
        const auto done = static_cast<double>(runs.size());
        simulation one{config};
        one.run(result, [&](double share) { progress(label, (done + share) / static_cast<double>(plan.size())); });
        runs.push_back(std::move(result));
    }
    return runs;
}

bound_verdict judge(const bound &what, const std::vector<run_result> &runs)
{
    bound_verdict result;
    std::vector<double> values;
    for (const run_result &run : runs) {
        if (!matches(what.runs, run))
            continue;
        const auto value = relative_value(what, run, runs);
        if (!value) {
            result.problem = value.error();
            return result;
        }
        values.push_back(*value);
    }
    if (values.empty()) {
        result.problem = "no run fits";
        return result;
    }
    std::ranges::sort(values);
    const double middle = values[values.size() / 2];
    result.measured = what.median ? value_range{middle, middle} : value_range{values.front(), values.back()};
    result.holds = result.measured.least >= what.between.least && result.measured.most <= what.between.most;
    return result;
}

std::string shown_range(const value_range &range)
{
    const std::string least = fmt::format("{:.4g}", range.least);
    const std::string most = fmt::format("{:.4g}", range.most);
    return least == most ? least : least + " to " + most;
}

} // namespace mrc::sim
