// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "protocol/paths/peer_silence.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

constexpr instant start{1s};
constexpr duration rto = 300us;

TEST(peer_silence, retries_linear_then_doubling_and_probes_at_least_every_100_ms)
{
    const retry_policy policy{{.timeout_exponent = 8, .linear = 3, .exponential = 14}};
    peer_silence silence;
    EXPECT_EQ(silence.next_deadline(), never);
    silence.begin(start, policy, rto);
    EXPECT_TRUE(silence.active());
    EXPECT_EQ(silence.attempts(), 1u) << "the first retry leaves with the first probe";

    unsigned retries = 0;
    instant last_probe = start;
    duration longest_wait{0};
    for (instant now = start; now < start + 2s; now = silence.next_deadline()) {
        retries += silence.retry_due(now, policy, rto) ? 1 : 0;
        if (silence.probe_due(now, rto)) {
            longest_wait = std::max(longest_wait, now - last_probe);
            last_probe = now;
        }
    }
    EXPECT_EQ(longest_wait, 100ms) << "the peer's return is noticed soon";
    EXPECT_GE(retries, 13u);
    EXPECT_LE(retries, 15u) << "few packets are sent into the void";
    silence.end();
    EXPECT_EQ(silence.next_deadline(), never);
    EXPECT_FALSE(silence.retry_due(start + 9s, policy, rto));
}

} // namespace
} // namespace mrc::protocol
