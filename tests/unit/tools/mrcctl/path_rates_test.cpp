// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/path_rates.h"

#include <vector>

#include <boost/json/array.hpp>
#include <gtest/gtest.h>

#include "tools/mrcctl/text.h"

namespace mrc::ctl
{
namespace
{

namespace json = boost::json;

path_sample::rows path_of_plane(std::uint8_t plane, std::uint64_t tx_packets, std::uint64_t losses,
                                std::uint32_t rtt_ns)
{
    path_sample::rows rows;
    rows.path.state = MRC_PATH_GOOD;
    rows.path.plane = plane;
    rows.path.uplink = 3;
    rows.path.tx_packets = tx_packets;
    rows.path.tx_bytes = tx_packets * 1000;
    rows.path.losses = losses;
    rows.signal.rtt_smoothed_ns = rtt_ns;
    return rows;
}

mrc_event_row change(mrc_event_kind kind, std::uint64_t time_ns, std::uint32_t path, std::uint32_t plane)
{
    mrc_event_row event{};
    event.kind = kind;
    event.reason = kind == MRC_EVENT_PATH_GOOD ? MRC_REASON_PROBES : MRC_REASON_LOSS;
    event.time_ns = time_ns;
    event.path = path;
    event.plane = plane;
    event.uplink = 3;
    return event;
}

TEST(mrcctl_path_rates, count_what_came_in_between)
{
    const path_sample before{.time_ns = 1'000'000'000, .paths = {{8, path_of_plane(0, 1000, 10, 0)}}};
    const path_sample after{.time_ns = 3'000'000'000,
                            .paths = {{8, path_of_plane(0, 3000, 110, 0)}, {9, path_of_plane(1, 0, 0, 0)}}};
    const json::array paths = path_rates(before, after, {});
    ASSERT_EQ(paths.size(), 2U);
    EXPECT_DOUBLE_EQ(paths[0].at("tx_packets_per_s").as_double(), 1000);
    EXPECT_DOUBLE_EQ(paths[0].at("tx_bits_per_s").as_double(), 8e6);
    EXPECT_DOUBLE_EQ(paths[0].at("loss_ratio").as_double(), 0.05);
    EXPECT_TRUE(paths[0].at("changed_ns").is_null());
    EXPECT_TRUE(paths[1].at("loss_ratio").is_null()) << "nothing was sent";
    EXPECT_NE(path_rates_text(paths).find("5.00 %"), std::string::npos);
}

TEST(mrcctl_path_rates, tell_how_often_a_path_left_use_and_when_and_why_it_changed_last)
{
    const path_sample now{.time_ns = 10'000'000'000, .paths = {{8, path_of_plane(0, 1000, 10, 0)}}};
    const std::vector<mrc_event_row> events{
        change(MRC_EVENT_PATH_ASSUMED_BAD, 1'000'000'000, 8, 0), change(MRC_EVENT_PATH_GOOD, 2'000'000'000, 8, 0),
        change(MRC_EVENT_PATH_ASSUMED_BAD, 4'000'000'000, 8, 0),
        change(MRC_EVENT_PATH_ASSUMED_BAD, 5'000'000'000, 9, 0),
        change(MRC_EVENT_PATH_ASSUMED_BAD, 6'000'000'000, 8, 1)}; // another's, that had the row
    const json::array paths = path_rates(now, now, events);
    EXPECT_EQ(paths[0].at("retirements"), 2);
    EXPECT_EQ(paths[0].at("changed_ns"), 4'000'000'000);
    EXPECT_EQ(paths[0].at("unchanged_for_ns"), 6'000'000'000);
    EXPECT_EQ(paths[0].at("changed_for"), "loss");
}

TEST(mrcctl_path_rates, the_worst_lose_most_or_take_longest)
{
    const path_sample before{.time_ns = 0, .paths = {}};
    const path_sample after{.time_ns = 1'000'000'000,
                            .paths = {{1, path_of_plane(0, 100, 0, 5)},
                                      {2, path_of_plane(1, 100, 7, 5)},
                                      {3, path_of_plane(2, 100, 0, 9)},
                                      {4, path_of_plane(3, 0, 0, 99)}}};
    std::vector<std::int64_t> numbers;
    for (const json::value &path : worst_paths(path_rates(before, after, {}), 3))
        numbers.push_back(path.at("path").to_number<std::int64_t>());
    EXPECT_EQ(numbers, (std::vector<std::int64_t>{2, 3, 1})) << "what carries nothing is none of them";
}

} // namespace
} // namespace mrc::ctl
