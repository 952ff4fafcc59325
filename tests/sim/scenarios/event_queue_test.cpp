// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
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

TEST(event_queue, interleaved_with_taking_it_equals_a_sorted_list)
{
    protocol::random_source random{42};
    event_queue events;
    std::vector<std::pair<picoseconds, std::uint32_t>> expected;
    picoseconds now = 0;
    std::uint32_t order = 0;
    for (int round = 0; round < 20'000; ++round) {
        if (random.below(3) != 0 || expected.empty()) {
            // Near, far, and at the same instant.
            const picoseconds at = now + random.below(random.below(2) == 0 ? 50 : 100'000'000);
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
