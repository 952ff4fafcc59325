// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/rates.h"

#include <cstring>
#include <vector>

#include <boost/json/array.hpp>
#include <gtest/gtest.h>

#include "kernel/map_names.h"
#include "tools/mrcctl/text.h"
#include "tools/mrcctl/views.h"
#include "tools/mrcctl/workers.h"

namespace mrc::ctl
{
namespace
{

namespace json = boost::json;

sample sample_at(std::uint64_t time_ns)
{
    sample at;
    at.time_ns = time_ns;
    at.verdicts.resize(MRC_VERDICT_COUNT);
    return at;
}

mrc_qp_row qp(std::uint32_t number, std::uint64_t tx_bytes)
{
    mrc_qp_row row{};
    row.qpn = number;
    row.state = MRC_QP_READY_TO_SEND;
    row.tx_bytes = tx_bytes;
    row.tx_packets = tx_bytes / 1000;
    return row;
}

TEST(mrcctl_rates, per_second)
{
    EXPECT_DOUBLE_EQ(rate_between(100, 300, 0.5), 400);
    EXPECT_DOUBLE_EQ(rate_between(100, 40, 0.5), 80) << "began anew";
    EXPECT_DOUBLE_EQ(rate_between(1, 2, 0), 0);
}

TEST(mrcctl_rates, the_busiest_queue_pair_comes_first)
{
    sample before = sample_at(1'000'000'000);
    sample after = sample_at(3'000'000'000);
    before.qps = {{5, qp(5, 1000)}, {6, qp(6, 1000)}, {7, qp(7, 9000)}};
    after.qps = {{5, qp(5, 2000)}, {6, qp(6, 11000)}, {8, qp(8, 4000)}};
    const json::object view = rates_view(before, after);
    EXPECT_DOUBLE_EQ(view.at("seconds").as_double(), 2);
    const json::array &qps = view.at("qps").as_array();
    ASSERT_EQ(qps.size(), 3U) << "one went, one came";
    EXPECT_EQ(qps[0].at("qpn"), 6);
    EXPECT_DOUBLE_EQ(qps[0].at("tx_bits_per_s").as_double(), 40000);
    EXPECT_DOUBLE_EQ(qps[0].at("tx_packets_per_s").as_double(), 5);
    EXPECT_EQ(qps[1].at("qpn"), 8);
    EXPECT_EQ(qps[2].at("qpn"), 5);
    EXPECT_EQ(qps[0].at("state"), "RTS");
}

TEST(mrcctl_rates, planes_without_a_port_are_left_out)
{
    sample before = sample_at(0);
    sample after = sample_at(1'000'000'000);
    std::strcpy(after.ports[2].device, "p2");
    after.ports[2].flags = MRC_PORT_PRESENT;
    after.ports[2].reason = MRC_PORT_NO_CARRIER;
    after.ports[2].rx_bytes = 1000;
    const json::object view = rates_view(before, after);
    const json::array &planes = view.at("planes").as_array();
    ASSERT_EQ(planes.size(), 1U);
    EXPECT_EQ(planes[0].at("plane"), 2);
    EXPECT_EQ(planes[0].at("state"), "down");
    EXPECT_EQ(planes[0].at("reason"), "no carrier");
    EXPECT_DOUBLE_EQ(planes[0].at("rx_bits_per_s").as_double(), 8000);
}

TEST(mrcctl_rates, verdicts_in_between)
{
    sample before = sample_at(0);
    sample after = sample_at(500'000'000);
    before.verdicts[MRC_RX_STEERED] = 10;
    after.verdicts[MRC_RX_STEERED] = 30;
    const json::object view = difference_view(before, after);
    EXPECT_EQ(view.at("verdicts").as_object().size(), std::size_t{MRC_VERDICT_COUNT});
    EXPECT_EQ(view.at("verdicts").at("rx_steered"), 20);
    EXPECT_EQ(counters_text(view, false), "VERDICT     PACKETS   RATE\n"
                                          "rx_steered       20  40 /s\n");
}

TEST(mrcctl_rates, queue_pairs_come_in_the_order_that_is_asked_for)
{
    sample before = sample_at(0);
    sample after = sample_at(1'000'000'000);
    const auto one = [&](std::uint32_t number, std::uint64_t packets, std::uint64_t losses, std::uint32_t rtt_ns) {
        mrc_qp_row row = qp(number, packets * 1000);
        row.losses = losses;
        row.rtt_ns = rtt_ns;
        after.qps.emplace(number, row);
    };
    one(5, 3000, 30, 9000);
    one(6, 1000, 30, 7000);
    one(7, 2000, 0, 0);
    const auto order = [&](qp_order by) {
        std::vector<std::int64_t> numbers;
        const json::object view = rates_view(before, after, by);
        for (const json::value &each : view.at("qps").as_array())
            numbers.push_back(each.at("qpn").to_number<std::int64_t>());
        return numbers;
    };
    using numbers = std::vector<std::int64_t>;
    EXPECT_EQ(order(qp_order::rate), (numbers{5, 7, 6}));
    EXPECT_EQ(order(qp_order::loss), (numbers{6, 5, 7})) << "by share, 3 % and 1 %";
    EXPECT_EQ(order(qp_order::rtt), (numbers{5, 6, 7}));
    EXPECT_EQ(order(qp_order::qpn), (numbers{5, 6, 7}));
}

TEST(mrcctl_rates, a_small_screen_shows_what_fits)
{
    sample before = sample_at(0);
    sample after = sample_at(1'000'000'000);
    for (std::uint32_t number = 1; number <= 50; ++number)
        after.qps.emplace(number, qp(number, number * 1000ULL));
    json::object view = rates_view(before, after);
    view["instance"] = "x";
    view["worst_paths"] = json::array{};
    view["daemon"] = {{"pid", 1}, {"alive", true}, {"state", "stopped"}, {"uptime_s", 3.0}};
    const auto lines = [&](std::size_t limit) {
        const std::string text = top_text(view, limit);
        return static_cast<std::size_t>(std::ranges::count(text, '\n'));
    };
    EXPECT_EQ(lines(0), 57U) << "heading, no ports, no workers, titles, three empty lines, 50 QPs";
    EXPECT_LE(lines(20), 20U);
    EXPECT_NE(top_text(view, 20).find("and "), std::string::npos);
    EXPECT_NE(top_text(view, 20).find("stopped"), std::string::npos);
}

TEST(mrcctl_rates, of_workers_are_parts_of_a_processors_time)
{
    mrc_worker_row before{};
    before.thread = 5;
    before.looked_ns = 1'000'000'000;
    before.ran_ns = 400'000'000;
    before.rx_packets = 100;
    before.lag_log2[15] = 100;
    mrc_worker_row after = before;
    const json::object idle = worker_rates(2, before, after, 1);
    EXPECT_TRUE(idle.at("load_ratio").is_null()) << "the daemon has not looked since";
    EXPECT_TRUE(idle.at("lag_p50_below_ns").is_null());
    after.looked_ns += 2'000'000'000;
    after.ran_ns += 500'000'000;
    after.waited_ns += 100'000'000;
    after.rx_packets += 300;
    after.lag_log2[0] = 200;
    after.lag_log2[2] = 97;
    after.lag_log2[15] += 3;
    const json::object busy = worker_rates(2, before, after, 2);
    EXPECT_EQ(busy.at("worker").to_number<int>(), 2);
    EXPECT_DOUBLE_EQ(busy.at("load_ratio").as_double(), 0.25);
    EXPECT_DOUBLE_EQ(busy.at("waited_ratio").as_double(), 0.05);
    EXPECT_DOUBLE_EQ(busy.at("rx_packets_per_s").as_double(), 150);
    EXPECT_EQ(busy.at("lag_p50_below_ns").to_number<int>(), 4096);
    EXPECT_EQ(busy.at("lag_p99_below_ns").to_number<int>(), 16384) << "297 of 300";
    EXPECT_NE(worker_rates_text({busy}).find("25.00 %"), std::string::npos);
}

TEST(mrcctl_rates, every_counter_of_a_queue_pair_is_shown)
{
    // They stand together but for the values in their midst; each has 8 bytes.
    constexpr std::size_t others = offsetof(mrc_qp_row, losses) - offsetof(mrc_qp_row, cwnd_bytes);
    constexpr std::size_t counters =
        (offsetof(mrc_qp_row, rtt_min_ns) - offsetof(mrc_qp_row, rx_packets) - others) / sizeof(__u64);
    EXPECT_EQ(qp_counters().size(), counters);
    const json::object view = qp_view(qp(9, 5000));
    for (const qp_counter &counter : qp_counters())
        EXPECT_TRUE(view.contains(counter.name)) << counter.name;
    EXPECT_EQ(view.at("tx_bytes"), 5000);
    EXPECT_TRUE(view.at("peer").is_null());
}

} // namespace
} // namespace mrc::ctl
