// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/delivery.h"

#include "protocol/send/retransmission.h"
#include "unit/protocol/send/requester_fixture.h"

namespace mrc::protocol
{
namespace
{

using delivery_test = requester_test;

TEST_F(delivery_test, packet_leaves_the_flight_once)
{
    write(3);
    (void)send();
    sack_scan scan;
    scan.arrived = now_ + 50us;
    deliver(requester_, 1, scan);
    deliver(requester_, 1, scan);
    EXPECT_EQ(scan.newly_bytes, nominal_bytes(payload_bytes));
    EXPECT_EQ(requester_.flying.packets, 2u);
    EXPECT_EQ(requester_.packets[1].fate, packet_fate::delivered);
    EXPECT_EQ(requester_.edge(), 0) << "the edge moves by advance()";
    deliver(requester_, 0, scan);
    advance(requester_, now_ + 50us);
    EXPECT_EQ(requester_.edge(), 2);
    EXPECT_EQ(requester_.progress_at, now_ + 50us);
}

TEST_F(delivery_test, what_was_given_up_is_not_sent_again_when_it_has_arrived)
{
    write(2);
    (void)send();
    lose(requester_, 0, now_);
    sack_scan scan;
    scan.arrived = now_ + 50us;
    deliver(requester_, 0, scan);
    EXPECT_EQ(scan.newly_bytes, 0u) << "it had left the window when it was given up";
    EXPECT_TRUE(send().empty());
    EXPECT_EQ(requester_.packets[0].fate, packet_fate::delivered);
}

// One of two transmissions has arrived: nothing is known of either's path.
TEST_F(delivery_test, packet_sent_twice_proves_nothing_of_a_path)
{
    write(1);
    const auto sent = send();
    lose(requester_, 0, now_);
    now_ += 20us;
    ASSERT_EQ(send().size(), 1u);
    sack_scan scan;
    scan.arrived = now_ + 50us;
    deliver(requester_, 0, scan);
    EXPECT_FALSE(requester_.packets[0].certain);
    EXPECT_EQ(requester_.reached, instant::min());
    EXPECT_EQ(scan.newly_bytes, nominal_bytes(payload_bytes));
}

TEST_F(delivery_test, answer_sooner_than_a_round_trip_shows_a_needless_copy)
{
    write(2);
    const auto sent = send();
    now_ += 50us;
    receive(sack(0, 0, sent[0]));
    ASSERT_EQ(requester_.rtt.minimum() / 1us, 50);
    lose(requester_, 1, now_);
    ASSERT_EQ(send().size(), 1u);
    sack_scan scan;
    scan.arrived = now_ + 10us;
    deliver(requester_, 1, scan);
    EXPECT_EQ(counters_.spurious, 1u);
    count_spurious(requester_, requester_.packets[1], scan.arrived);
    EXPECT_EQ(counters_.spurious, 1u) << "counted once";
}

// By the time of its first transmission, not of the copy that proved to be needless.
TEST_F(delivery_test, needless_copy_teaches_how_late_its_original_was)
{
    write(1);
    const auto first = send();
    now_ += 20us;
    write(1);
    const auto second = send();
    now_ += 50us;
    receive(sack(-1, 0b10, second[0]));
    lose(requester_, 0, now_);
    now_ += 5us;
    ASSERT_EQ(send().size(), 1u);
    EXPECT_EQ(requester_.packets[0].first_sent_at(), now_ - 75us);
    now_ += 10us;
    receive(sack(1, 0, first[0]));
    EXPECT_EQ(counters_.spurious, 1u);
    EXPECT_EQ(requester_.skew.lag(), 20us);
}

} // namespace
} // namespace mrc::protocol
