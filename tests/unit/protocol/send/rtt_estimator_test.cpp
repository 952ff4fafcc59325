// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "protocol/send/rtt_estimator.h"
#include "unit/protocol/start.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

// `samples` answers, one every `spacing`.
void feed(rtt_estimator &rtt, instant &now, duration sample, int samples, duration spacing)
{
    for (int i = 0; i < samples; ++i)
        rtt.on_sample(sample, now += spacing);
}

TEST(rtt_estimator, first_sample_sets_smoothed_and_half_as_variation)
{
    rtt_estimator rtt;
    EXPECT_FALSE(rtt.has_sample());
    EXPECT_EQ(rtt.timeout(262us), 4ms) << "nothing is known yet";
    rtt.on_sample(100us, start);
    EXPECT_EQ(rtt.smoothed(), 100us);
    EXPECT_EQ(rtt.variation(), 50us);
    EXPECT_EQ(rtt.timeout(262us), 300us);
}

TEST(rtt_estimator, follows_rfc_6298_gains_with_one_sample_a_round_trip)
{
    rtt_estimator rtt;
    rtt.on_sample(100us, start);
    rtt.on_sample(180us, start + 100us);
    EXPECT_EQ(rtt.variation(), 57'500ns);
    EXPECT_EQ(rtt.smoothed(), 110us);
    EXPECT_EQ(rtt.minimum(), 100us);
    rtt.on_sample(110us, start + 300us);
    EXPECT_EQ(rtt.variation(), 43'125ns) << "a quarter of it is gone";
}

TEST(rtt_estimator, counts_round_trips_by_powers_of_two)
{
    rtt_estimator rtt;
    EXPECT_EQ(rtt.minimum(), duration::max());
    for (const duration sample :
         {0ns, 4'095ns, 4'096ns, 8'191ns, 8'192ns, 67'108'863ns, 67'108'864ns, 10'000'000'000ns})
        rtt.on_sample(sample, start);
    EXPECT_EQ(rtt.histogram().by_log2(), (duration_histogram::counts{2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2}));
}

TEST(rtt_estimator, timeout_is_never_below_T)
{
    rtt_estimator rtt;
    instant now = start;
    feed(rtt, now, 20us, 100, 20us);
    EXPECT_EQ(rtt.timeout(262us), 262us);
    EXPECT_LT(rtt.timeout(1us), 25us);
}

// Fifty SACKs a round trip: with RFC 6298's gains on each, twenty of them wipe out what a busy host has just shown.
TEST(rtt_estimator, variation_lasts_round_trips_however_many_samples_each_brings)
{
    rtt_estimator rtt;
    instant now = start;
    feed(rtt, now, 100us, 500, 2us);
    feed(rtt, now, 1100us, 1, 2us);
    const duration shown = rtt.variation();
    EXPECT_GE(shown, 250us) << "believed at once";
    feed(rtt, now, 100us, 50, 2us);
    EXPECT_GT(rtt.variation(), shown / 2) << "a round trip later";
    feed(rtt, now, 100us, 50 * 12, 2us);
    EXPECT_LT(rtt.variation(), shown / 8) << "a dozen later";
}

TEST(rtt_estimator, smoothed_time_moves_by_round_trips)
{
    rtt_estimator rtt;
    instant now = start;
    feed(rtt, now, 100us, 500, 2us);
    feed(rtt, now, 200us, 50, 2us);
    EXPECT_LT(rtt.smoothed(), 130us) << "an eighth of the way in one";
    feed(rtt, now, 200us, 100 * 40, 2us);
    EXPECT_GT(rtt.smoothed(), 190us);
}

} // namespace
} // namespace mrc::protocol
