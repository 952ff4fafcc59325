// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "protocol/random_source.h"
#include "sim/event_queue.h"

namespace mrc::sim
{
namespace
{

TEST(event_queue, takes_events_in_order_of_time)
{
    event_queue events;
    for (const picoseconds at : {50, 10, 40, 20, 30})
        events.push(at, sim_event_kind::sample, static_cast<std::uint32_t>(at), 0);
    for (const picoseconds at : {10, 20, 30, 40, 50}) {
        EXPECT_EQ(events.next_at(), at);
        const event next = events.pop();
        EXPECT_EQ(next.at, at);
        EXPECT_EQ(next.a, static_cast<std::uint32_t>(at));
        EXPECT_EQ(next.kind(), sim_event_kind::sample);
    }
    EXPECT_TRUE(events.empty());
}

TEST(event_queue, equal_times_keep_the_order_of_scheduling)
{
    event_queue events;
    for (std::uint32_t i = 0; i < 100; ++i)
        events.push(7, i % 2 == 0 ? sim_event_kind::workload : sim_event_kind::arrival, i, 0);
    for (std::uint32_t i = 0; i < 100; ++i)
        EXPECT_EQ(events.pop().a, i);
}

TEST(event_queue, the_far_future_does_not_hide_what_is_scheduled_before_it)
{
    event_queue events;
    events.push(5 * millisecond, sim_event_kind::sample, 0, 0); // the only one: the queue goes there
    events.push(1 * millisecond, sim_event_kind::sample, 1, 0);
    events.push(5 * millisecond + 1, sim_event_kind::sample, 2, 0);
    events.push(2 * microsecond, sim_event_kind::sample, 3, 0);
    EXPECT_EQ(events.next_at(), 2 * microsecond);
    for (const std::uint32_t expected : {3, 1, 0, 2})
        EXPECT_EQ(events.pop().a, expected);
    EXPECT_TRUE(events.empty());
    events.push(10 * microsecond, sim_event_kind::sample, 4, 0);
    EXPECT_EQ(events.next_at(), 10 * microsecond);
}

TEST(event_queue, interleaved_with_taking_it_equals_a_sorted_list)
{
    protocol::random_source random{42};
    event_queue events;
    std::vector<std::pair<picoseconds, std::uint32_t>> expected;
    picoseconds now = 0;
    std::uint32_t order = 0;
    for (int round = 0; round < 50'000; ++round) {
        // More are taken than scheduled in every other thousand, so that time goes on and the queue runs empty.
        if (random.below(8) < (round / 1000 % 2 == 0 ? 5u : 2u) || expected.empty()) {
            // At the same instant, in the same slot, in one of the next, and beyond.
            constexpr std::array<std::uint32_t, 4> distances{50, 3'000, 3'000'000, 100'000'000};
            const picoseconds at = now + random.below(distances[random.below(4)]);
            events.push(at, sim_event_kind::arrival, order, 0);
            expected.emplace_back(at, order++);
            std::ranges::push_heap(expected, std::greater{});
        } else {
            std::ranges::pop_heap(expected, std::greater{});
            const event next = events.pop();
            ASSERT_EQ(std::pair(next.at, next.a), expected.back());
            expected.pop_back();
            now = next.at;
        }
    }
    EXPECT_EQ(events.size(), expected.size());
}

} // namespace
} // namespace mrc::sim
