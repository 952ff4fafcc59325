// SPDX-License-Identifier: Apache-2.0
// mrc-sim: runs a scenario on simulated time and holds it to its bounds.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sim/report.h"
#include "sim/scenario_file.h"
#include "tools/mrc-sim/progress.h"
#include "tools/usage.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace
{

using namespace mrc::sim;

constexpr int bound_failed = 1;

struct run_options {
    std::vector<std::string> scenarios;
    std::uint64_t seed = 0;
    std::vector<std::string> variants;
    bool json = false;
    bool quiet = false;
    std::string csv;
    std::string report;
};

void write_file(const std::filesystem::path &path, const std::string &text)
{
    std::ofstream file{path, std::ios::binary};
    file << text;
    if (!file.flush())
        throw std::runtime_error{fmt::format("{}: cannot be written", path.string())};
}

scenario_results run_one(const std::string &path, const run_options &wanted)
{
    scenario what = load_scenario(path);
    if (!wanted.variants.empty())
        keep_variants(what, wanted.variants);
    mrc::tools::sim_progress progress{what.id, wanted.quiet};
    const std::optional<std::uint64_t> seed = wanted.seed == 0 ? std::nullopt : std::optional{wanted.seed};
    auto runs =
        run_scenario(what, seed, [&progress](const std::string &label, double share) { progress.show(label, share); });
    return judge_all(std::move(what), std::move(runs));
}

// docs/results.md, and beside it what scripts/plot-results draws the charts from.
bool write_report(const run_options &wanted)
{
    const std::filesystem::path folder{wanted.report};
    std::filesystem::create_directories(folder / "results");
    std::string text = results_introduction();
    bool holds = true;
    for (const std::string &path : wanted.scenarios) {
        const scenario_results results = run_one(path, wanted);
        const std::string name = "results/" + results.what.id;
        write_file(folder / (name + ".json"), report_json(results));
        text += report_markdown(results, name + ".svg");
        holds = holds && results.all_hold();
    }
    for (const char *section : {"scale.md", "random_scenarios.md"}) // by scripts/scale and scripts/scenarios
        if (std::ifstream measured{folder / "results" / section}; measured)
            text += std::string{std::istreambuf_iterator{measured}, {}} + "\n";
    while (text.ends_with("\n\n"))
        text.pop_back();
    write_file(folder / "results.md", text);
    return holds;
}

bool run_all(const run_options &wanted)
{
    if (!wanted.report.empty())
        return write_report(wanted);
    bool holds = true;
    for (const std::string &path : wanted.scenarios) {
        const scenario_results results = run_one(path, wanted);
        fmt::print("{}", wanted.json ? report_json(results) : report_text(results));
        if (!wanted.csv.empty())
            write_file(wanted.csv, report_csv(results));
        holds = holds && results.all_hold();
    }
    return holds;
}

void declare(CLI::App &app, run_options &to)
{
    app.add_option("SCENARIO", to.scenarios, "scenario files (TOML)")->required();
    app.add_option("--seed", to.seed, "instead of the scenario's")->check(CLI::Range(1ull, 1'000'000'000ull));
    auto *variants =
        app.add_option("--variant", to.variants, "run this one only, held to the bounds that need no other; repeatable")
            ->allow_extra_args(false);
    auto *json = app.add_flag("--json", to.json, "results as one JSON object instead of a table");
    auto *csv = app.add_option("--csv", to.csv, "write the time series to this file");
    app.add_option("--report", to.report, "write results.md and results/*.json for all scenarios into this directory")
        ->excludes(json)
        ->excludes(csv)
        ->excludes(variants);
    // Not in --help: who used it learns what draws instead.
    app.add_option_function<std::string>("--svg",
                                         [](const std::string &) {
                                             throw CLI::ValidationError{
                                                 "--svg",
                                                 "mrc-sim draws no charts; scripts/plot-results draws one from --json"};
                                         })
        ->group("");
    app.add_flag("--quiet", to.quiet, "no progress on standard error");
    app.set_version_flag("--version", MRC_VERSION);
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app{"Runs scenarios on a simulated multi-plane fabric and holds them to their bounds."};
    run_options wanted;
    declare(app, wanted);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return mrc::tools::end_of(app, error, "mrc-sim");
    }
    if (wanted.scenarios.size() > 1 && (wanted.json || !wanted.csv.empty())) {
        fmt::print(stderr, "mrc-sim: {} scenarios; --json and --csv take one\n", wanted.scenarios.size());
        return mrc::tools::usage_status;
    }
    try {
        return run_all(wanted) ? 0 : bound_failed;
    } catch (const std::exception &error) {
        fmt::print(stderr, "mrc-sim: {}\n", error.what());
        return mrc::tools::usage_status;
    }
}
