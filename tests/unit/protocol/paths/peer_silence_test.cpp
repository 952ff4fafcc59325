// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/paths/peer_silence.h"
#include "unit/protocol/start.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

constexpr duration rto = 300us;

TEST(peer_silence, probes_at_once_then_linear_then_doubling_to_100_ms)
{
    const retry_policy policy{{.timeout_exponent = 8, .linear = 3, .exponential = 14}};
    peer_silence silence;
    EXPECT_EQ(silence.next_deadline(), never);
    silence.begin(start, rto);
    EXPECT_TRUE(silence.active());
    std::vector<duration> waits;
    instant last = start;
    for (instant now = start; now < start + 2s; now = silence.next_deadline()) {
        (void)silence.retry_due(now, rto);
        if (!silence.probe_due(now, policy, rto))
            continue;
        waits.push_back(now - last);
        last = now;
    }
    ASSERT_GE(waits.size(), 6u);
    EXPECT_EQ(
        std::vector(waits.begin(), waits.begin() + 6),
        (std::vector<duration>{0us, rto, rto, 2 * policy.shortest(), 4 * policy.shortest(), 8 * policy.shortest()}));
    EXPECT_EQ(*std::ranges::max_element(waits), 100ms) << "the peer's return is noticed soon";
    silence.end();
    EXPECT_EQ(silence.next_deadline(), never);
    EXPECT_FALSE(silence.probe_due(start + 9s, policy, rto));
}

TEST(peer_silence, oldest_packet_is_due_when_a_host_would_be_back_and_then_ever_more_rarely)
{
    peer_silence silence;
    silence.begin(start, rto);
    std::vector<duration> due;
    for (instant now = start; now < start + 200ms; now += 100us)
        if (silence.retry_due(now, rto))
            due.push_back(now - start);
    EXPECT_EQ(due, (std::vector<duration>{4ms, 12ms, 28ms, 60ms, 124ms}));
    silence.begin(start, 20ms);
    EXPECT_FALSE(silence.retry_due(start + 19ms, 20ms)) << "never before a time-out";
    EXPECT_TRUE(silence.retry_due(start + 20ms, 20ms));
}

} // namespace
} // namespace mrc::protocol
