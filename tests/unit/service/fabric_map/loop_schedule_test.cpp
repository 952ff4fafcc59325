// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/loop_schedule.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "simulated_loops.h"

namespace mrc::service
{
namespace
{

using namespace std::chrono_literals;
using protocol::instant;
using rows = std::vector<std::uint32_t>;

constexpr instant first_round{1h};

rows round_of(loop_schedule &schedule, instant now, std::vector<std::uint32_t> suspects = {})
{
    rows chosen;
    schedule.round(
        now, [&](std::uint32_t way) { return std::ranges::count(suspects, way) != 0; },
        [&](std::uint32_t way) { chosen.push_back(way); });
    return chosen;
}

TEST(loop_schedule, sends_by_every_way_once_an_interval)
{
    const auto ways = loop_ways_of(test::fabric_of(2, 2));
    loop_schedule schedule{ways, {.interval = 5ms, .suspect_interval = 1ms, .per_second = 4000}};
    EXPECT_EQ(round_of(schedule, first_round), (rows{0, 3, 1, 2, 4, 5})) << "the leaves first";
    EXPECT_EQ(round_of(schedule, first_round + 1ms), rows{});
    EXPECT_EQ(round_of(schedule, first_round + 5ms).size(), 6U);
}

TEST(loop_schedule, sends_by_suspicious_ways_more_often)
{
    const auto ways = loop_ways_of(test::fabric_of(2, 2));
    loop_schedule schedule{ways, {.interval = 5ms, .suspect_interval = 1ms, .per_second = 4000}};
    round_of(schedule, first_round);
    EXPECT_EQ(round_of(schedule, first_round + 1ms, {0, 2}), (rows{0, 2}));
    EXPECT_EQ(round_of(schedule, first_round + 1500us, {0, 2}), rows{});
    EXPECT_EQ(schedule.next_round(true), first_round + 2ms);
}

TEST(loop_schedule, sends_by_suspicious_ways_as_often_though_each_round_is_late)
{
    const auto ways = loop_ways_of(test::fabric_of(2, 2));
    loop_schedule schedule{ways, {.interval = 5ms, .suspect_interval = 1ms, .per_second = 4000}};
    std::size_t sent = 0;
    for (instant due = first_round; due < first_round + 100ms; due = schedule.next_round(true))
        sent += static_cast<std::size_t>(std::ranges::count(round_of(schedule, due + 300us, {2}), 2U));
    EXPECT_EQ(sent, 100U);
}

TEST(loop_schedule, has_spines_take_turns_where_the_budget_is_short)
{
    const auto ways = loop_ways_of(test::fabric_of(2, 3));
    loop_schedule schedule{ways, {.interval = 5ms, .suspect_interval = 1ms, .per_second = 800}};
    EXPECT_EQ(round_of(schedule, first_round), (rows{0, 4, 1, 2}));
    EXPECT_EQ(round_of(schedule, first_round + 5ms), (rows{0, 4, 3, 5}));
    EXPECT_EQ(round_of(schedule, first_round + 10ms), (rows{0, 4, 6, 7}));
    EXPECT_EQ(round_of(schedule, first_round + 15ms), (rows{0, 4, 1, 2}));
}

TEST(loop_schedule, keeps_suspicious_ways_within_the_budget)
{
    const auto ways = loop_ways_of(test::fabric_of(2, 3));
    loop_schedule schedule{ways, {.interval = 5ms, .suspect_interval = 1ms, .per_second = 2000}};
    round_of(schedule, first_round);
    EXPECT_EQ(round_of(schedule, first_round + 1ms, {0, 1, 2, 3}), (rows{0, 1}));
}

TEST(loop_schedule, does_not_make_up_for_what_it_has_missed)
{
    const auto ways = loop_ways_of(test::fabric_of(2, 2));
    loop_schedule schedule{ways, {.interval = 5ms, .suspect_interval = 1ms, .per_second = 4000}};
    round_of(schedule, first_round);
    EXPECT_EQ(round_of(schedule, first_round + 1s).size(), 6U);
    EXPECT_EQ(round_of(schedule, first_round + 1s + 1ms), rows{});
}

} // namespace
} // namespace mrc::service
