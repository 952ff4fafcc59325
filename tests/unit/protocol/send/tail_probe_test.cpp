// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "protocol/send/tail_probe.h"
#include "unit/protocol/start.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

constexpr duration shortest = 262us;

TEST(tail_probe, waits_for_quiet_and_doubles_while_unanswered)
{
    rtt_estimator rtt;
    for (int i = 0; i < 100; ++i)
        rtt.on_sample(200us, start + i * 200us);
    tail_probe tail;
    tail.on_activity(start);
    const duration first = tail.next_deadline(rtt, shortest) - start;
    EXPECT_GE(first, 400us) << "two round trips";
    tail.on_activity(start + 50us);
    tail.on_activity(start + 20us);
    EXPECT_EQ(tail.next_deadline(rtt, shortest), start + 50us + first) << "time does not run backwards";

    (void)tail.on_sent(0, traffic_class::first_transmission, 1, start + 1ms);
    tail.on_round();
    (void)tail.on_sent(1, traffic_class::first_transmission, 2, start + 1ms);
    EXPECT_EQ(tail.next_deadline(rtt, shortest), start + 1ms + 2 * first);
    (void)tail.on_sent(0, traffic_class::first_transmission, 3, start + 3ms);
    tail.on_round();
    EXPECT_EQ(tail.next_deadline(rtt, shortest), start + 3ms + 4 * first);
    tail.on_heard(start + 4ms);
    EXPECT_EQ(tail.next_deadline(rtt, shortest), start + 4ms + first);
}

TEST(tail_probe, answers_match_once_by_id)
{
    tail_probe tail;
    const std::uint16_t first = tail.on_sent(3, traffic_class::retransmission, 17, start);
    EXPECT_FALSE(tail.take(static_cast<std::uint16_t>(first + 1)));
    const auto probe = tail.take(first).value_or(tail_probe::sent_probe{});
    EXPECT_EQ(probe.slot, 3);
    EXPECT_EQ(probe.order, 17u);
    EXPECT_EQ(probe.in, traffic_class::retransmission);
    EXPECT_EQ(probe.sent_at, start);
    EXPECT_FALSE(tail.take(first));
    for (int i = 0; i < 8; ++i)
        (void)tail.on_sent(0, traffic_class::first_transmission, 20, start);
    EXPECT_FALSE(tail.take(first)) << "forgotten";
}

} // namespace
} // namespace mrc::protocol
