// SPDX-License-Identifier: Apache-2.0
// Frames through links: times, losses, cuts, carrier.
#include <gtest/gtest.h>

#include <vector>

#include "sim/engine.h"

namespace mrc::sim
{
namespace
{

class recorder final : public attached_host
{
public:
    explicit recorder(engine &clock) : clock_{clock} {}
    void on_frame(const frame &) override { arrivals.push_back(clock_.now()); }
    void pump() override {}
    void on_queue_pair_timer(unsigned) override {}
    void on_path_group_timer(unsigned) override {}
    void on_carrier(unsigned plane, bool up) override { carrier.emplace_back(plane, up); }
    bool post(unsigned, const message_part &) override { return false; }

    std::vector<picoseconds> arrivals;
    std::vector<std::pair<unsigned, bool>> carrier;

private:
    engine &clock_;
};

class running_fabric : public testing::Test
{
protected:
    running_fabric() { clock.set_hosts({&left, &right}); }

    static fabric_config config()
    {
        fabric_config result;
        result.planes = 2;
        result.leaves = 2;
        result.spines = 1;
        return result;
    }
    void send(std::uint32_t bytes)
    {
        const frame_index index = clock.take_frame();
        clock.frames[index] = frame{};
        clock.frames[index].wire_bytes = bytes;
        clock.topology.set_route(clock.frames[index], 0, 1, 0, 0);
        clock.send(index);
    }
    void run(picoseconds end = millisecond)
    {
        clock.run(end, [](picoseconds) {});
    }
    [[nodiscard]] link_ports middle() const { return *clock.topology.find_link("p0t0-0", "p0t1-0"); }

    engine clock{config(), 4096, 1};
    recorder left{clock};
    recorder right{clock};
};

TEST_F(running_fabric, a_frame_takes_serialisation_and_delay_of_each_link)
{
    send(1000);
    run();
    ASSERT_EQ(right.arrivals.size(), 1u);
    EXPECT_EQ(right.arrivals[0], 4 * 1000 * 80 + 2 * (600 + 1000) * nanosecond);
    EXPECT_EQ(clock.link_hops(), 4u);
    EXPECT_EQ(clock.frames.used(), 0u);
}

TEST_F(running_fabric, frames_follow_each_other_at_the_rate_of_the_link)
{
    for (int i = 0; i < 10; ++i)
        send(1000);
    run();
    ASSERT_EQ(right.arrivals.size(), 10u);
    for (std::size_t i = 1; i < 10; ++i)
        EXPECT_EQ(right.arrivals[i] - right.arrivals[i - 1], 1000 * 80);
}

TEST_F(running_fabric, a_cut_link_drops_frames_without_notice)
{
    clock.set_link(middle(), false, false);
    send(1000);
    run();
    EXPECT_TRUE(right.arrivals.empty());
    EXPECT_EQ(clock.topology.ports[middle().out].counters.dropped_cut, 1u);
    EXPECT_EQ(clock.frames.used(), 0u) << "frames come back to the pool";
    clock.set_link(middle(), true, false);
    send(1000);
    run(2 * millisecond);
    EXPECT_EQ(right.arrivals.size(), 1u);
    EXPECT_TRUE(left.carrier.empty());
}

TEST_F(running_fabric, a_frame_on_the_wire_dies_with_the_link)
{
    send(1000);
    run(600 * nanosecond + 2 * 1000 * 80 + 500 * nanosecond); // in the middle of the second link
    clock.set_link(middle(), false, false);
    run();
    EXPECT_TRUE(right.arrivals.empty());
    EXPECT_EQ(clock.topology.ports[middle().out].counters.dropped_cut, 1u);
}

TEST_F(running_fabric, hosts_see_the_carrier_of_their_own_ports_after_a_while)
{
    const link_ports link = *clock.topology.find_link("h0", "p1t0-0");
    clock.set_link(link, false, true);
    run(9 * microsecond);
    EXPECT_TRUE(left.carrier.empty());
    run(11 * microsecond);
    ASSERT_EQ(left.carrier.size(), 1u);
    EXPECT_EQ(left.carrier[0], (std::pair<unsigned, bool>{1, false}));
    EXPECT_TRUE(right.carrier.empty());
}

TEST_F(running_fabric, links_lose_about_their_configured_share)
{
    clock.set_loss(middle().out, 0.1);
    for (int i = 0; i < 5000; ++i)
        send(100);
    run();
    EXPECT_NEAR(static_cast<double>(right.arrivals.size()), 4500, 100);
    EXPECT_EQ(clock.topology.ports[middle().out].counters.dropped_loss + right.arrivals.size(), 5000u);
}

} // namespace
} // namespace mrc::sim
