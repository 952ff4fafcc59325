// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "protocol/paths/path_evidence.h"
#include "unit/protocol/start.h"

namespace mrc::protocol
{
namespace
{

using namespace std::chrono_literals;

TEST(path_evidence, silence_everywhere_is_no_evidence)
{
    path_evidence evidence{4};
    EXPECT_FALSE(evidence.delivered_elsewhere(0, start));
    evidence.on_delivered(0, start);
    EXPECT_FALSE(evidence.delivered_elsewhere(0, start)) << "its own delivery does not count against it";
    EXPECT_TRUE(evidence.delivered_elsewhere(1, start));
    EXPECT_FALSE(evidence.delivered_elsewhere(1, start + 1ns));
}

TEST(path_evidence, remembers_the_two_latest_paths)
{
    path_evidence evidence{4};
    evidence.on_delivered(0, start + 1us);
    evidence.on_delivered(1, start + 2us);
    evidence.on_delivered(1, start + 3us);
    EXPECT_TRUE(evidence.delivered_elsewhere(1, start + 1us));
    EXPECT_FALSE(evidence.delivered_elsewhere(1, start + 2us));
    EXPECT_TRUE(evidence.delivered_elsewhere(0, start + 3us));
    evidence.on_delivered(0, start + 4us); // the second becomes the first
    EXPECT_TRUE(evidence.delivered_elsewhere(0, start + 3us));
    EXPECT_TRUE(evidence.delivered_elsewhere(1, start + 4us));
    evidence.on_delivered(2, start + 3500ns); // an older one between them
    EXPECT_TRUE(evidence.delivered_elsewhere(0, start + 3500ns));
}

TEST(path_evidence, counts_losses_among_the_last_packets)
{
    path_evidence evidence{2};
    evidence.on_loss(0);
    for (int i = 0; i < 6; ++i)
        evidence.on_delivered(0, start + i * 1us);
    evidence.on_loss(0);
    EXPECT_EQ(evidence.recent_losses(0, 8), 2u);
    EXPECT_EQ(evidence.recent_losses(0, 7), 1u);
    evidence.on_delivered(0, start + 9us);
    EXPECT_EQ(evidence.recent_losses(0, 8), 1u);
    EXPECT_EQ(evidence.recent_losses(0, 32), 2u);
    evidence.forget(0);
    EXPECT_EQ(evidence.recent_losses(0, 32), 0u);
}

TEST(path_evidence, counts_packets_without_answer)
{
    path_evidence evidence{2};
    evidence.on_sent(1);
    evidence.on_sent(1);
    EXPECT_EQ(evidence.unanswered(1), 2u);
    evidence.on_delivered(1, start);
    EXPECT_EQ(evidence.unanswered(1), 0u);
}

} // namespace
} // namespace mrc::protocol
