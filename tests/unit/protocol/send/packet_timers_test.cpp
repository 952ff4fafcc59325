// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "protocol/send/packet_timers.h"
#include "unit/protocol/start.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

constexpr retry_policy policy{{.timeout_exponent = 10, .linear = 7, .exponential = 14}};
constexpr duration rto = policy.shortest(); // about 1 ms

TEST(packet_timers, expire_in_order_of_arming)
{
    packet_timers timers{16};
    timers.arm(3, 0, start);
    timers.arm(1, 0, start + 10us);
    EXPECT_EQ(timers.next_deadline(policy, rto, {}), start + rto);
    EXPECT_FALSE(timers.expire(policy, rto, {}, start + rto - 1ns));
    EXPECT_EQ(timers.expire(policy, rto, {}, start + rto), 3u);
    EXPECT_FALSE(timers.expire(policy, rto, {}, start + rto));
    EXPECT_EQ(timers.expire(policy, rto, {}, start + rto + 10us), 1u);
    EXPECT_TRUE(timers.empty());
    EXPECT_EQ(timers.next_deadline(policy, rto, {}), never);
}

TEST(packet_timers, levels_double_the_wait)
{
    packet_timers timers{16};
    timers.arm(0, 2, start);
    timers.arm(1, 0, start + 500us);
    EXPECT_EQ(timers.next_deadline(policy, rto, {}), start + 500us + rto);
    EXPECT_EQ(timers.expire(policy, rto, {}, start + 2 * rto), 1u);
    EXPECT_EQ(timers.next_deadline(policy, rto, {}), start + 4 * rto);
}

TEST(packet_timers, disarm_from_anywhere_in_a_list)
{
    packet_timers timers{16};
    for (std::size_t index = 0; index < 5; ++index)
        timers.arm(index, 0, start);
    for (const std::size_t index : {2u, 0u, 4u, 4u})
        timers.disarm(index);
    EXPECT_EQ(timers.expire(policy, rto, {}, start + rto), 1u);
    EXPECT_EQ(timers.expire(policy, rto, {}, start + rto), 3u);
    EXPECT_TRUE(timers.empty());
}

TEST(packet_timers, arming_again_moves_the_packet)
{
    packet_timers timers{16};
    timers.arm(0, 0, start);
    timers.arm(1, 0, start);
    timers.arm(0, 1, start + 1us);
    EXPECT_EQ(timers.expire(policy, rto, {}, start + rto), 1u);
    EXPECT_EQ(timers.next_deadline(policy, rto, {}), start + 1us + 2 * rto);
}

TEST(packet_timers, floor_postpones_what_was_armed_before_it)
{
    packet_timers timers{16};
    timers.arm(0, 0, start);
    EXPECT_EQ(timers.next_deadline(policy, rto, start + 5ms), start + 5ms + rto);
    EXPECT_EQ(timers.next_deadline(policy, rto, start - 5ms), start + rto);
}

// With the answers to a tail's probes the floor moves every four time-outs.
TEST(packet_timers, floor_that_keeps_moving_holds_no_packet_back_for_ever)
{
    packet_timers timers{16};
    timers.arm(0, 3, start);
    for (instant floor = start; floor < start + 8 * rto; floor += packet_timers::floor_spacing * rto)
        EXPECT_EQ(timers.next_deadline(policy, rto, floor), start + 8 * rto);
    EXPECT_EQ(timers.expire(policy, rto, start + 8 * rto, start + 8 * rto), 0u);
}

TEST(packet_timers, a_new_timeout_holds_for_packets_in_flight)
{
    packet_timers timers{16};
    timers.arm(0, 0, start);
    EXPECT_FALSE(timers.expire(policy, 10 * rto, {}, start + 5 * rto));
    EXPECT_EQ(timers.expire(policy, rto, {}, start + 5 * rto), 0u);
}

} // namespace
} // namespace mrc::protocol
