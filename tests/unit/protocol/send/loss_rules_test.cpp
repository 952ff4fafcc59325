// SPDX-License-Identifier: Apache-2.0
// Age beyond path skew, and SLEEK.
#include <gtest/gtest.h>

#include "protocol/paths/path_skew.h"
#include "protocol/send/sleek.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

constexpr instant start{1s};

TEST(path_skew, is_the_lateness_of_first_transmissions_seen_by_earlier_sacks)
{
    path_skew skew;
    skew.on_delivered(start + 50us, start, 100us);
    skew.on_delivered(start + 10us, start, 100us);
    EXPECT_EQ(skew.skew(), 0us) << "one SACK told both";
    skew.end_sack();
    skew.on_delivered(start + 20us, start, 100us);
    EXPECT_EQ(skew.skew(), 30us);
    skew.on_delivered(start + 40us, start, 100us);
    EXPECT_EQ(skew.skew(), 30us);
    EXPECT_EQ(skew.margin(100us), 110us) << "twice the skew and half an RTT";
}

TEST(path_skew, is_forgotten_after_two_periods)
{
    path_skew skew;
    skew.on_delivered(start + 50us, start, 1us);
    skew.end_sack();
    skew.on_delivered(start + 20us, start, 1us);
    skew.on_delivered(start + 49us, start + 11ms, 1us);
    EXPECT_EQ(skew.skew(), 30us) << "the last period counts";
    skew.on_delivered(start + 49us, start + 22ms, 1us);
    EXPECT_EQ(skew.skew(), 1us);
    skew.on_delivered(start + 49us, start + 60ms, 1us);
    EXPECT_EQ(skew.skew(), 1us);
}

TEST(path_skew, is_remembered_longer_before_a_path_is_blamed)
{
    path_skew skew;
    EXPECT_EQ(skew.tolerance(), 0us);
    skew.on_delivered(start + 50us, start, 1us);
    skew.end_sack();
    skew.on_delivered(start + 20us, start, 1us);
    skew.on_delivered(start + 49us, start + 900ms, 1us);
    EXPECT_EQ(skew.skew(), 1us);
    EXPECT_EQ(skew.tolerance(), 60us);
    skew.on_delivered(start + 49us, start + 1100ms, 1us);
    EXPECT_EQ(skew.tolerance(), 60us) << "the second before counts";
    skew.on_delivered(start + 49us, start + 2200ms, 1us);
    EXPECT_EQ(skew.tolerance(), 2us);
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
    EXPECT_FALSE(rule.begins(14, 10'000, 1000, 0, 40));
    EXPECT_TRUE(rule.begins(15, 10'000, 1000, 0, 40));
    EXPECT_FALSE(rule.begins(30, 10'000, 1000, 39, 80)) << "recovery is under way";
    EXPECT_TRUE(rule.begins(30, 10'000, 1000, 40, 80));
    sleek small;
    EXPECT_FALSE(small.begins(4, 1000, 1000, 0, 10)) << "five packets at least";
    EXPECT_TRUE(small.begins(5, 1000, 1000, 0, 10));
}

} // namespace
} // namespace mrc::protocol
