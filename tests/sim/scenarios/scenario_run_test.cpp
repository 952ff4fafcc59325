// SPDX-License-Identifier: Apache-2.0
// Whole runs: the same seed gives the same bytes, bounds hold or fail as they should, nothing is lost on the way.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "sim/report.h"
#include "sim/scenario_file.h"

namespace mrc::sim
{
namespace
{

scenario small(const std::string &more)
{
    return parse_scenario(R"(title = "small"
duration = "2ms"
[fabric]
planes = 2
leaves = 2
spines = 2
hosts_per_leaf = 2
loss = 0.01
[measure]
interval = "100us"
)" + more,
                          "small.toml");
}

scenario_results run(const scenario &what, std::optional<std::uint64_t> seed = std::nullopt)
{
    return judge_all(what, run_scenario(what, seed, [](const std::string &, double) {}));
}

std::string everything(const scenario_results &results)
{
    return report_text(results) + report_json(results) + report_csv(results) + report_markdown(results, "x.svg");
}

TEST(scenario_run, the_same_seed_gives_the_same_bytes_and_another_does_not)
{
    for (const char *transport : {"mrc", "roce"}) {
        const scenario what =
            small(std::string{"[traffic]\nkind = \"permutation\"\n[transport]\nkind = \""} + transport + "\"\n");
        const std::string first = everything(run(what, 7));
        EXPECT_EQ(first, everything(run(what, 7))) << transport;
        EXPECT_NE(first, everything(run(what, 8))) << transport;
    }
}

TEST(scenario_run, json_has_what_charts_are_drawn_from)
{
    const std::string json = report_json(run(small("[traffic]\nkind = \"permutation\"\n")));
    EXPECT_NE(json.find(R"("y_metric": "bus_gbps")"), std::string::npos);
    EXPECT_NE(json.find(R"("flow_series": 1, "samples": {"time_us": [100, 200, )"), std::string::npos) << json;
    EXPECT_NE(json.find(R"(], "goodput": [)"), std::string::npos) << json;
}

TEST(scenario_run, collectives_deliver_every_byte)
{
    for (const char *transport : {"mrc", "roce"}) {
        for (const auto &[kind, per_host] : {std::pair{"all_reduce", 2 * 3}, std::pair{"all_to_all", 3}}) {
            const scenario what =
                small(std::string{"[traffic]\nbytes = \"1M\"\nkind = \""} + kind +
                      "\"\n[transport]\nqps = 2\nkind = \"" + transport + "\"\n[sweep]\nloss = [0.01]\n");
            scenario longer = what;
            longer.variants[0].config.duration = 100 * millisecond;
            const scenario_results results = run(longer);
            const auto &metrics = results.runs[0].metrics;
            EXPECT_EQ(metrics.at("finished"), 1) << kind << transport;
            EXPECT_EQ(metrics.at("failed"), 0) << kind << transport;
            EXPECT_EQ(metrics.at("received_bytes"), 4.0 * per_host * (1 << 18)) << kind << transport;
            EXPECT_GT(metrics.at("dropped_loss"), 0) << kind << transport;
        }
    }
}

TEST(scenario_run, selectors_and_windows_all_carry_traffic)
{
    for (const char *choice : {"selector = \"oblivious\"", "selector = \"reps\"", "selector = \"single-path\"",
                               "congestion = \"fixed\"", "congestion = \"nscc\""}) {
        const scenario_results results =
            run(small(std::string{"[traffic]\nkind = \"permutation\"\n[transport]\n"} + choice + "\n"));
        EXPECT_GT(results.runs[0].metrics.at("flow_least_gbps"), 20) << choice;
    }
}

TEST(scenario_run, bounds_fail_when_they_are_missed)
{
    const std::string bound = "[[bound]]\nwhat = \"w\"\nmetric = \"flow_mean_gbps\"\n";
    const auto holds = [&bound](const std::string &rest) { return run(small(bound + rest)).verdicts[0].holds; };
    EXPECT_TRUE(holds("between = [20, 200]\n"));
    EXPECT_FALSE(holds("between = [201, 300]\n")) << "more than two links of 100 Gb/s";
    EXPECT_FALSE(holds("between = [1, 20]\n")) << "too good is wrong, too";
}

TEST(scenario_run, bounds_that_measure_nothing_fail)
{
    const auto problem = [](const std::string &rest) {
        const scenario_results results = run(small("[[bound]]\nwhat = \"w\"\nbetween = [0, 1]\n" + rest));
        EXPECT_FALSE(results.verdicts[0].holds);
        return results.verdicts[0].problem;
    };
    EXPECT_EQ(problem("metric = \"nonsense\"\n"), "no metric nonsense");
    EXPECT_EQ(problem("metric = \"goodput\"\nseries = \"x\"\n"), "no series x");
    EXPECT_EQ(problem("metric = \"goodput\"\nin = [\"5ms\", \"6ms\"]\n"), "no sample in that part of the run");
    EXPECT_EQ(problem("metric = \"failed\"\nvariant = \"x\"\n"), "no run fits");
}

run_result with_metric(double value, std::uint64_t seed)
{
    run_result result;
    result.seed = seed;
    result.metrics["m"] = value;
    return result;
}

TEST(scenario_run, every_run_must_hold_a_bound_or_their_median)
{
    const std::vector<run_result> runs{with_metric(7, 1), with_metric(1, 2), with_metric(4, 3)};
    bound what;
    what.metric = "m";
    what.between = {.least = 3, .most = 7};
    EXPECT_FALSE(judge(what, runs).holds);
    EXPECT_EQ(shown_range(judge(what, runs).measured), "1 to 7");
    what.median = true;
    EXPECT_TRUE(judge(what, runs).holds);
    EXPECT_EQ(shown_range(judge(what, runs).measured), "4") << "the middle one, however near to an end of the bound";
    what.median = false;
    what.between = {.least = 0, .most = 6};
    EXPECT_FALSE(judge(what, runs).holds);
    what.between = {.least = 1, .most = 7};
    EXPECT_TRUE(judge(what, runs).holds);
}

TEST(scenario_run, a_figure_that_is_no_number_fails)
{
    bound what;
    what.metric = "m";
    what.between = {.least = -1e12, .most = 1e12};
    const bound_verdict verdict = judge(what, {with_metric(std::nan(""), 1)});
    EXPECT_FALSE(verdict.holds);
    EXPECT_EQ(verdict.problem, "m is not a number");
}

TEST(scenario_run, a_port_without_carrier_is_left_at_once)
{
    const scenario_results results = run(small(R"([[event]]
at = "1ms"
what = "down"
links = [["h0", "p0t0-0"]]
[traffic]
kind = "pairs"
[[traffic.flow]]
from = "h0"
to = "h2"
[[bound]]
what = "half is left"
metric = "goodput"
between = [0.45, 0.55]
baseline = ["500us", "1ms"]
in = ["1200us", "2ms"]
)"));
    EXPECT_TRUE(results.all_hold()) << report_text(results);
}

} // namespace
} // namespace mrc::sim
