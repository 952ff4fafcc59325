// SPDX-License-Identifier: Apache-2.0
//
// What host_tx does for a packet of a flow whose path is good.
#include "counted.h"

#include "../host_tx_fixture.h"

namespace mrc::test
{
namespace
{

class host_tx_counts : public host_tx
{
};

TEST_F(host_tx_counts, flow)
{
    const packet_costs expected{.array_look_ups = 6,
                                .per_cpu_look_ups = 1,
                                .hash_look_ups = 1,
                                .locked_adds = 4,
                                .clock_reads = 1,
                                .other_calls = 4};

    EXPECT_EQ(costs_of(skeleton_->progs.host_tx, skeleton_->maps.bss, ipv6_datagram(1024, 5001), TC_ACT_REDIRECT),
              expected);
}

} // namespace
} // namespace mrc::test
