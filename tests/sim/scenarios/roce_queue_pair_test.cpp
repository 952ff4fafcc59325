// SPDX-License-Identifier: Apache-2.0
// The baseline transport: go-back-N, and its rate.
#include <gtest/gtest.h>

#include "sim/roce_queue_pair.h"

namespace mrc::sim
{
namespace
{

roce_config unpaced()
{
    roce_config config;
    config.window_bytes = 1 << 20;
    config.rate_control = false;
    return config;
}

roce_packet answer(roce_kind kind, std::int64_t sequence)
{
    roce_packet packet;
    packet.kind = kind;
    packet.sequence = sequence;
    return packet;
}

TEST(roce_sender, cuts_messages_and_completes_them_in_order)
{
    roce_sender sender{unpaced()};
    sender.post({7, 0, 0, 10'000});
    sender.post({7, 1, 0, 4096});
    for (std::int64_t i = 0; i < 4; ++i) {
        const auto packet = sender.next_packet(0);
        ASSERT_TRUE(packet);
        EXPECT_EQ(packet->sequence, i);
        EXPECT_EQ(packet->payload_bytes, i == 2 ? 10'000u - 8192 : 4096u);
        EXPECT_EQ(packet->ack_request, i >= 2);
    }
    EXPECT_FALSE(sender.next_packet(0));
    sender.on_packet(answer(roce_kind::ack, 3), 10);
    EXPECT_EQ(sender.next_completion()->message, 0u);
    EXPECT_FALSE(sender.next_completion());
    sender.on_packet(answer(roce_kind::ack, 4), 20);
    EXPECT_EQ(sender.next_completion()->message, 1u);
    EXPECT_EQ(sender.deadline(), no_time);
}

TEST(roce_sender, goes_back_to_what_the_receiver_expects)
{
    roce_sender sender{unpaced()};
    sender.post({7, 0, 0, 10 * 4096});
    for (int i = 0; i < 8; ++i)
        ASSERT_TRUE(sender.next_packet(0));
    sender.on_packet(answer(roce_kind::nak, 3), 10);
    for (std::int64_t i = 3; i < 10; ++i)
        EXPECT_EQ(sender.next_packet(20)->sequence, i);
    EXPECT_EQ(sender.counters().retransmits, 5u);
}

TEST(roce_sender, sends_all_again_after_a_time_out)
{
    roce_sender sender{unpaced()};
    sender.post({7, 0, 0, 2 * 4096});
    ASSERT_TRUE(sender.next_packet(0));
    ASSERT_TRUE(sender.next_packet(0));
    ASSERT_EQ(sender.deadline(), 500 * microsecond);
    sender.on_timer(499 * microsecond);
    EXPECT_FALSE(sender.next_packet(499 * microsecond));
    sender.on_timer(500 * microsecond);
    EXPECT_EQ(sender.next_packet(500 * microsecond)->sequence, 0);
    EXPECT_EQ(sender.counters().timeouts, 1u);
}

TEST(roce_receiver, accepts_in_order_only_and_sends_one_nak_per_gap)
{
    roce_receiver receiver;
    roce_packet data;
    data.sequence = 0;
    EXPECT_TRUE(receiver.on_data(data, false, 0).accepted);
    data.sequence = 2;
    const auto gap = receiver.on_data(data, false, 0);
    EXPECT_FALSE(gap.accepted);
    ASSERT_TRUE(gap.answer);
    EXPECT_EQ(gap.answer->kind, roce_kind::nak);
    EXPECT_EQ(gap.answer->sequence, 1);
    data.sequence = 3;
    EXPECT_FALSE(receiver.on_data(data, false, 0).answer);
    data.sequence = 0;
    const auto duplicate = receiver.on_data(data, false, 0);
    EXPECT_FALSE(duplicate.accepted);
    EXPECT_EQ(duplicate.answer->kind, roce_kind::ack);
}

TEST(roce_receiver, notifies_of_congestion_at_a_limited_rate)
{
    roce_receiver receiver;
    roce_packet data;
    EXPECT_TRUE(receiver.on_data(data, true, 0).notify);
    EXPECT_FALSE(receiver.on_data(data, true, 49 * microsecond).notify);
    EXPECT_TRUE(receiver.on_data(data, true, 50 * microsecond).notify);
}

TEST(dcqcn, halves_at_first_and_comes_back)
{
    dcqcn rate{100};
    rate.on_notification(0);
    EXPECT_NEAR(rate.rate_gbps(), 50, 0.5);
    rate.advance(200 * microsecond);
    EXPECT_GT(rate.rate_gbps(), 85) << "fast recovery closes half of the distance each time";
    rate.advance(50 * millisecond);
    EXPECT_EQ(rate.rate_gbps(), 100);
}

} // namespace
} // namespace mrc::sim
