// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "protocol/congestion/fixed_window.h"

namespace mrc::protocol
{
namespace
{

TEST(fixed_window, every_transmission_leaves_the_flight_once)
{
    fixed_window window{10'000};
    for (int i = 0; i < 4; ++i)
        window.on_sent(2000, {});
    EXPECT_EQ(window.inflight(), 8000);
    EXPECT_TRUE(window.can_send(2000));
    EXPECT_FALSE(window.can_send(2001));
    sack_signal sack;
    sack.newly_bytes = 2000;
    sack.congestion_experienced = true;
    window.on_sack(sack, {});
    window.on_nack({.bytes = 2000, .reason = MRC_NACK_TRIMMED, .rtt = {}}, {});
    window.on_loss(2000, {});
    window.on_abandoned(2000);
    EXPECT_EQ(window.inflight(), 0);
    EXPECT_EQ(window.cwnd(), 10'000u) << "fixed";
}

TEST(fixed_window, one_packet_may_always_fly)
{
    fixed_window window{100};
    EXPECT_TRUE(window.can_send(3000));
    window.on_sent(3000, {});
    EXPECT_FALSE(window.can_send(1));
}

} // namespace
} // namespace mrc::protocol
