// SPDX-License-Identifier: Apache-2.0
#include "datapath/frames_in_flight.h"

#include <gtest/gtest.h>

namespace mrc::datapath
{
namespace
{

using std::chrono::milliseconds;

constexpr std::uint32_t bound = 100;
constexpr std::uint32_t burst = 10;

// A device with a ring, by its two counters; as mixed_transmit uses them.
class frames_in_flight_test : public testing::Test
{
protected:
    // Sends bursts until one is held, at most so many. Returns the packets that left.
    std::uint64_t send(std::uint32_t bursts)
    {
        const std::uint64_t before = pushed_;
        while (bursts-- > 0 && send_one())
            ;
        return pushed_ - before;
    }
    bool send_one()
    {
        if (!flight_.has_room(burst, pushed_)) {
            flight_.look(pushed_, sent_, now_);
            if (!flight_.has_room(burst, pushed_)) {
                if (!flight_.is_held())
                    flight_.hold(now_);
                return false;
            }
        }
        pushed_ += burst;
        return true;
    }

    frames_in_flight flight_{bound};
    std::uint64_t pushed_ = 5000; // by earlier daemons, and by a device that has sent much else
    std::uint64_t sent_ = 123456;
    protocol::instant now_{std::chrono::hours{1}};
};

TEST_F(frames_in_flight_test, a_device_that_sends_nothing_gets_the_bound)
{
    EXPECT_EQ(send(1000), bound);
    EXPECT_EQ(send(1000), 0U);
    EXPECT_TRUE(flight_.is_held());
}

TEST_F(frames_in_flight_test, a_device_that_keeps_up_holds_nothing_back)
{
    for (int round = 0; round < 1000; ++round) {
        ASSERT_TRUE(send_one()) << round;
        sent_ += burst;
    }
}

TEST_F(frames_in_flight_test, a_hold_ends_when_half_is_free)
{
    send(1000);
    sent_ += bound / 2 - 1;
    EXPECT_EQ(send(1000), 0U);
    sent_ += 1;
    EXPECT_EQ(send(1000), bound / 2);
}

// Else the bound would shrink with each frame that a device drops, until nothing but the other way is left.
TEST_F(frames_in_flight_test, dropped_frames_are_forgotten_once_as_many_were_sent)
{
    for (int round = 0; round < 100; ++round) {
        ASSERT_EQ(send(1000), bound) << round;
        sent_ += bound / 2 - 1; // the others are dropped
        ASSERT_EQ(send(1000), 0U);
        const auto go_another_way = [this](std::uint64_t packets) {
            pushed_ += packets;
            sent_ += packets;
        };
        go_another_way(bound / 2);
        ASSERT_EQ(send(1000), 0U);
        go_another_way(1);
    }
}

TEST_F(frames_in_flight_test, all_dropped_are_forgotten_when_the_counter_stands_still)
{
    send(1000);
    now_ += milliseconds{999};
    EXPECT_EQ(send(1000), 0U);
    now_ += milliseconds{1};
    EXPECT_EQ(send(1000), bound); // and no more than the bound each second
    now_ += milliseconds{500};
    sent_ += 1;
    EXPECT_EQ(send(1000), 0U);
    now_ += milliseconds{999};
    EXPECT_EQ(send(1000), 0U);
    now_ += milliseconds{1};
    EXPECT_EQ(send(1000), bound);
}

// The kernel's own packets move the counter, too: those of before give no credit.
TEST_F(frames_in_flight_test, other_traffic_gives_no_credit_beyond_what_is_out)
{
    send(3);
    sent_ += 1000000;
    EXPECT_EQ(send(1000), bound + 7 * burst) << "70 without a look, then what is out counts from 0";
    EXPECT_EQ(send(1000), 0U);
}

TEST_F(frames_in_flight_test, another_device_begins_anew)
{
    send(1000);
    sent_ = 0;
    EXPECT_EQ(send(1000), bound);
}

TEST_F(frames_in_flight_test, looks_are_apart)
{
    EXPECT_TRUE(flight_.may_look(now_));
    flight_.look(pushed_, sent_, now_);
    EXPECT_FALSE(flight_.may_look(now_));
    EXPECT_TRUE(flight_.may_look(now_ + frames_in_flight::between_looks));
}

} // namespace
} // namespace mrc::datapath
