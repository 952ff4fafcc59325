// SPDX-License-Identifier: Apache-2.0
// Rings in memory: what is read of them in a round, and when timers run.
#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/fair_receive.h"
#include "datapath/timer_gate.h"

namespace mrc::datapath
{
namespace
{

struct ring {
    unsigned name;
    std::uint32_t waiting;
    template <typename Callback>
    std::uint32_t receive(std::uint32_t limit, Callback &&on_frame)
    {
        const std::uint32_t count = std::min(limit, waiting);
        for (std::uint32_t i = 0; i < count; ++i)
            on_frame(name);
        waiting -= count;
        return count;
    }
};

struct rings {
    explicit rings(const std::vector<std::uint32_t> &waiting)
    {
        for (std::size_t i = 0; i < waiting.size(); ++i)
            all.push_back(std::make_unique<ring>(ring{static_cast<unsigned>(i), waiting[i]}));
    }
    receive_result read()
    {
        order.clear();
        return receive_fairly(all, [this](unsigned name) { order.push_back(name); });
    }

    std::vector<std::unique_ptr<ring>> all;
    std::vector<unsigned> order;
};

TEST(fair_receive, ports_take_turns_by_shares)
{
    rings ports{{1000, 1000}};
    const receive_result result = ports.read();
    EXPECT_EQ(result.frames, 2 * receive_batch);
    EXPECT_TRUE(result.unread);
    for (std::size_t i = 0; i < ports.order.size(); ++i)
        ASSERT_EQ(ports.order[i], i / receive_share % 2) << i;
}

TEST(fair_receive, idle_ports_are_looked_at_once)
{
    rings ports{{3, 0}};
    const receive_result result = ports.read();
    EXPECT_EQ(result.frames, 3u);
    EXPECT_FALSE(result.unread);
}

TEST(fair_receive, ring_that_was_emptied_on_the_way_is_not_unread)
{
    rings ports{{receive_share + 1, 0}};
    EXPECT_FALSE(ports.read().unread);
    rings full{{receive_batch, 0}};
    EXPECT_TRUE(full.read().unread) << "nobody knows yet whether there is more";
    EXPECT_FALSE(full.read().unread);
}

TEST(timer_gate, timers_wait_until_everything_is_read)
{
    timer_gate gate{4};
    EXPECT_TRUE(gate.may_run(false));
    EXPECT_FALSE(gate.may_run(true));
    EXPECT_FALSE(gate.may_run(true));
    EXPECT_TRUE(gate.may_run(false));
}

TEST(timer_gate, timers_wait_no_longer_than_a_full_ring_takes)
{
    timer_gate gate{4};
    unsigned ran = 0;
    for (unsigned round = 0; round < 40; ++round)
        ran += gate.may_run(true) ? 1 : 0;
    EXPECT_EQ(ran, 10u);
}

} // namespace
} // namespace mrc::datapath
