// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "protocol/send/loss_detector.h"

namespace mrc::protocol
{
namespace
{

constexpr auto data = traffic_class::first_transmission;
constexpr auto again = traffic_class::retransmission;

TEST(loss_detector, a_later_packet_of_the_same_path_proves_a_loss)
{
    sack_proofs proofs{4};
    loss_detector detector{proofs, 4};
    detector.begin_sack();
    detector.proves(1, data, 10);
    EXPECT_TRUE(detector.lost(1, data, 9, false));
    EXPECT_FALSE(detector.lost(1, data, 11, false)) << "sent later than what arrived";
    EXPECT_FALSE(detector.lost(2, data, 9, false)) << "another path";
    EXPECT_FALSE(detector.lost(1, again, 9, false)) << "another class may have overtaken";
}

TEST(loss_detector, proofs_of_one_sack_do_not_serve_another)
{
    sack_proofs proofs{4};
    loss_detector detector{proofs, 4};
    detector.begin_sack();
    detector.proves(1, data, 10);
    detector.begin_sack();
    EXPECT_FALSE(detector.lost(1, data, 9, false));
    detector.proves(1, data, 5);
    EXPECT_FALSE(detector.lost(1, data, 9, false)) << "the old proof is gone";
    EXPECT_TRUE(detector.lost(1, data, 4, false));
}

TEST(loss_detector, packets_below_the_edge_prove_losses_in_every_sack_at_the_edge)
{
    sack_proofs proofs{4};
    loss_detector detector{proofs, 4};
    detector.below_edge(3, data, 20);
    detector.below_edge(3, data, 15);
    detector.begin_sack();
    EXPECT_TRUE(detector.lost(3, data, 19, true));
    EXPECT_FALSE(detector.lost(3, data, 19, false)) << "this SACK may be older";
    EXPECT_FALSE(detector.lost(3, data, 21, true));
}

} // namespace
} // namespace mrc::protocol
