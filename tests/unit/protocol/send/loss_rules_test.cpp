// SPDX-License-Identifier: Apache-2.0
// Age beyond path skew, and SLEEK.
#include <gtest/gtest.h>

#include "protocol/paths/path_skew.h"
#include "protocol/send/sleek.h"
#include "unit/protocol/start.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

TEST(path_skew, is_the_lateness_of_what_earlier_sacks_overtook)
{
    path_skew skew;
    skew.on_delivered(start + 50us, start, 100us);
    skew.on_delivered(start + 10us, start, 100us);
    EXPECT_EQ(skew.lag(), 0us) << "one SACK told both";
    skew.end_sack();
    skew.on_delivered(start + 20us, start, 100us);
    EXPECT_EQ(skew.lag(), 60us) << "twice the lateness";
    skew.on_delivered(start + 40us, start, 100us);
    EXPECT_EQ(skew.lag(), 60us);
    EXPECT_EQ(skew.margin(100us), 110us) << "and half an RTT";
}

TEST(path_skew, fades_after_two_periods)
{
    path_skew skew;
    skew.on_delivered(start + 50us, start, 1us);
    skew.end_sack();
    skew.on_delivered(start + 10us, start, 1us);
    skew.on_delivered(start + 50us, start + 11ms, 1us);
    EXPECT_EQ(skew.lag(), 80us) << "the last period counts";
    skew.on_delivered(start + 50us, start + 22ms, 1us);
    EXPECT_EQ(skew.lag(), 40us) << "half of the one before";
    skew.on_delivered(start + 50us, start + 33ms, 1us);
    EXPECT_EQ(skew.lag(), 20us);
    skew.on_delivered(start + 50us, start + 1s, 1us);
    EXPECT_EQ(skew.lag(), 0us);
}

// The copies were needless: waiting that long would have saved them, and will the next time.
TEST(path_skew, what_was_sent_again_for_nothing_is_waited_for_a_second_and_more)
{
    path_skew skew;
    skew.on_delivered(start + 3ms, start, 1us);
    skew.end_sack();
    skew.on_needless(start, start);
    EXPECT_EQ(skew.lag(), 3ms);
    skew.on_needless(start + 4ms, start);
    EXPECT_EQ(skew.lag(), 3ms) << "nothing had overtaken it";
    skew.on_delivered(start + 3ms, start + 900ms, 1us);
    EXPECT_EQ(skew.lag(), 3ms);
    skew.on_delivered(start + 3ms, start + 1950ms, 1us);
    EXPECT_EQ(skew.lag(), 3ms) << "the second before counts";
    skew.on_delivered(start + 3ms, start + 2960ms, 1us);
    EXPECT_EQ(skew.lag(), 1500us);
    EXPECT_GT(skew.tolerance(), 1500us) << "no path is blamed for it either";
}

// A time-out waits for what the paths lag: it may not learn from what itself delayed.
TEST(path_skew, lag_is_bounded)
{
    path_skew skew;
    skew.on_late(1s, start);
    EXPECT_EQ(skew.lag(), 20ms);
}

TEST(path_skew, is_remembered_longer_before_a_path_is_blamed)
{
    path_skew skew;
    EXPECT_EQ(skew.tolerance(), 0us);
    skew.on_delivered(start + 50us, start, 1us);
    skew.end_sack();
    skew.on_delivered(start + 20us, start, 1us);
    skew.on_delivered(start + 50us, start + 900ms, 1us);
    EXPECT_EQ(skew.lag(), 0us);
    EXPECT_EQ(skew.tolerance(), 60us);
    skew.on_delivered(start + 50us, start + 1100ms, 1us);
    EXPECT_EQ(skew.tolerance(), 60us) << "the second before counts";
    skew.on_delivered(start + 50us, start + 2200ms, 1us);
    EXPECT_EQ(skew.tolerance(), 30us) << "half of the one before that";
    skew.on_delivered(start + 1s, start + 2300ms, 1us);
    skew.end_sack();
    skew.on_delivered(start, start + 2300ms, 1us);
    EXPECT_EQ(skew.tolerance(), 10ms) << "a path that is dead is left at last";
}

TEST(age_evidence, losses_are_packets_sent_earlier_by_more_than_the_skew)
{
    age_evidence age;
    EXPECT_FALSE(age.lost(traffic_class::first_transmission, start, 10us)) << "nothing is proven";
    age.proves(traffic_class::first_transmission, start + 30us);
    EXPECT_TRUE(age.lost(traffic_class::first_transmission, start + 19us, 10us));
    EXPECT_FALSE(age.lost(traffic_class::first_transmission, start + 20us, 10us));
    EXPECT_TRUE(age.lost(traffic_class::retransmission, start + 19us, 10us));
}

TEST(age_evidence, retransmissions_overtake_data_and_prove_no_loss_of_it)
{
    age_evidence age;
    age.proves(traffic_class::retransmission, start + 100us);
    EXPECT_FALSE(age.lost(traffic_class::first_transmission, start, 10us));
    EXPECT_TRUE(age.lost(traffic_class::retransmission, start, 10us));
}

TEST(sleek, begins_beyond_one_and_a_half_windows_and_ends_when_the_edge_has_passed)
{
    sleek rule;
    rule.note_window(10'000, start, 100us);
    EXPECT_FALSE(rule.begins(14, 100'000, 1000, 0, 40));
    EXPECT_TRUE(rule.begins(15, 100'000, 1000, 0, 40));
    EXPECT_FALSE(rule.begins(30, 100'000, 1000, 39, 80)) << "recovery is under way";
    EXPECT_TRUE(rule.begins(30, 100'000, 1000, 40, 80));
    sleek small;
    small.note_window(1000, start, 100us);
    EXPECT_FALSE(small.begins(4, 100'000, 1000, 0, 10)) << "five packets at least";
    EXPECT_TRUE(small.begins(5, 100'000, 1000, 0, 10));
}

TEST(sleek, begins_at_the_largest_window_that_there_can_be)
{
    sleek rule;
    rule.note_window(10'000, start, 100us);
    EXPECT_FALSE(rule.begins(9, 10'000, 1000, 0, 40));
    EXPECT_TRUE(rule.begins(10, 10'000, 1000, 0, 40));
}

// What is out of order now was sent by the window of a round trip ago, which a mark has cut since.
TEST(sleek, counts_against_the_window_that_sent)
{
    sleek rule;
    rule.note_window(40'000, start, 100us);
    rule.note_window(4'000, start + 110us, 100us);
    EXPECT_EQ(rule.window(), 40'000u);
    EXPECT_FALSE(rule.begins(30, 100'000, 1000, 0, 40));
    rule.note_window(4'000, start + 220us, 100us);
    EXPECT_EQ(rule.window(), 20'000u) << "half of it two round trips later";
    EXPECT_TRUE(rule.begins(30, 100'000, 1000, 0, 40));
}

} // namespace
} // namespace mrc::protocol
