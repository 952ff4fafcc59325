// SPDX-License-Identifier: Apache-2.0
// The model of a worker: its stalls are distributed as they were measured, its rounds take their time, and a simulated
// host that goes in rounds reads, sends and times out as the model says.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/metrics.h"
#include "sim/receive_ring.h"
#include "sim/report.h"
#include "sim/scenario_file.h"
#include "sim/worker_model.h"

namespace mrc::sim
{
namespace
{

worker_model with_stalls()
{
    worker_model model;
    model.round = 2 * microsecond;
    model.frame = 300 * nanosecond;
    model.stall_every = 2 * millisecond;
    model.stalls = {{0, 20 * microsecond}, {0.5, 40 * microsecond}, {0.9, 4 * millisecond}, {1, 8 * millisecond}};
    return model;
}

TEST(worker_model, stalls_have_the_quantiles_that_were_given)
{
    const worker_model model = with_stalls();
    stall_source source{model, 1};
    std::vector<picoseconds> lengths(100'000);
    std::ranges::generate(lengths, [&] { return source.next_length(); });
    for (const stall_quantile &each : model.stalls) {
        const auto below = std::ranges::count_if(lengths, [&](picoseconds length) { return length <= each.length; });
        EXPECT_NEAR(static_cast<double>(below) / static_cast<double>(lengths.size()), each.share, 0.01);
    }
    EXPECT_EQ(std::ranges::count_if(lengths, [](picoseconds length) { return length % nanosecond != 0; }), 0);
}

TEST(worker_model, it_runs_for_as_long_as_was_given_between_two_stalls)
{
    const worker_model model = with_stalls();
    worker_time time{model, 1};
    picoseconds ran = 0;
    picoseconds stalled = 0;
    unsigned stalls = 0;
    const picoseconds step = 10 * microsecond;
    picoseconds now = 0;
    for (const picoseconds end = 20'000 * millisecond; now < end;) {
        const auto until = time.stalled_until(now);
        (until ? stalled : ran) += until ? *until - now : step;
        stalls += until ? 1 : 0;
        now = until ? *until : now + step;
    }
    EXPECT_NEAR(static_cast<double>(ran) / stalls, static_cast<double>(model.stall_every), 0.05 * millisecond);
    // Half the stalls last 30 us in the mean, 0.4 of them 2.02 ms, the rest 6 ms.
    EXPECT_NEAR(static_cast<double>(stalled) / stalls, 1.423 * millisecond, 0.1 * millisecond);
}

TEST(worker_model, a_round_takes_the_time_of_its_frames)
{
    const worker_model model = with_stalls();
    worker_time time{model, 1};
    time.begin_round(5 * microsecond, 10);
    EXPECT_EQ(time.busy_until(), 10 * microsecond);
}

TEST(worker_model, without_stalls_the_cpu_is_never_anothers)
{
    worker_model model = with_stalls();
    model.stall_every = 0;
    worker_time time{model, 1};
    for (picoseconds now = 0; now < 1000 * millisecond; now += microsecond * 100)
        ASSERT_FALSE(time.stalled_until(now));
}

TEST(receive_ring, refuses_what_it_cannot_hold)
{
    receive_ring<int> ring;
    EXPECT_TRUE(ring.put(1, 2));
    EXPECT_TRUE(ring.put(2, 2));
    EXPECT_FALSE(ring.put(3, 2));
    EXPECT_TRUE(ring.put(4, 0)) << "0: no limit";
    std::vector<int> read;
    EXPECT_EQ(ring.receive(2, [&](int each) { read.push_back(each); }), 2u);
    EXPECT_EQ(read, (std::vector{1, 2}));
    EXPECT_EQ(ring.size(), 1u);
}

metric_values metrics_of(const std::string &host)
{
    const scenario what = parse_scenario(R"(title = "worker"
duration = "5ms"
[fabric]
planes = 2
leaves = 1
spines = 1
hosts_per_leaf = 2
[transport]
timeout = 12
[traffic]
kind = "pairs"
bytes = "1M"
depth = 4
[[traffic.flow]]
from = "h0"
to = "h1"
[host]
)" + host,
                                         "worker.toml");
    return run_scenario(what, std::nullopt, [](const std::string &, double) {}).at(0).metrics;
}

TEST(mrc_host, sends_no_more_than_its_rounds_allow)
{
    const metric_values at_once = metrics_of("");
    EXPECT_GT(at_once.at("goodput_gbps"), 180);
    // 16 packets of 4,096 bytes in a round of 20 us and 16 times 500 ns: 18.7 Gb/s; answers take their time, too.
    const metric_values in_rounds = metrics_of("round = \"20us\"\nframe = \"500ns\"\nbatch = 16\n");
    EXPECT_LT(in_rounds.at("goodput_gbps"), 18.8);
    EXPECT_GT(in_rounds.at("goodput_gbps"), 14);
    EXPECT_EQ(in_rounds.at("retransmits"), 0);
}

TEST(mrc_host, waits_for_its_cpu)
{
    const metric_values calm = metrics_of("round = \"1us\"\n");
    // Off its CPU for 400 of 500 us in the mean.
    const metric_values stalled =
        metrics_of("round = \"1us\"\nstall_every = \"100us\"\nstalls = [[0, \"300us\"], [1, \"500us\"]]\n");
    EXPECT_LT(stalled.at("goodput_gbps"), calm.at("goodput_gbps") / 3);
    EXPECT_GT(stalled.at("goodput_gbps"), 0);
    EXPECT_EQ(stalled.at("dropped_ring"), 0);
    EXPECT_EQ(stalled.at("needless_percent"), 0) << "T is 4 ms";
}

TEST(mrc_host, loses_what_its_rings_cannot_hold)
{
    const metric_values small = metrics_of("round = \"20us\"\nring = 8\n");
    EXPECT_GT(small.at("dropped_ring"), 0);
    EXPECT_GE(small.at("retransmits") + small.at("timeouts"), 1);
}

} // namespace
} // namespace mrc::sim
