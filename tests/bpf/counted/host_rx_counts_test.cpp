// SPDX-License-Identifier: Apache-2.0
//
// What host_rx does for a packet that is steered, and for one of an ordinary socket.
#include "counted.h"

#include "../host_rx_fixture.h"

namespace mrc::test
{
namespace
{

class host_rx_counts : public host_rx
{
protected:
    packet_costs costs(const packet_bytes &packet, std::uint32_t action)
    {
        return costs_of(program_->program(), program_->maps().bss, packet, action);
    }
};

TEST_F(host_rx_counts, data)
{
    const packet_costs expected{.array_look_ups = 4,
                                .per_cpu_look_ups = 1,
                                .hash_look_ups = 1,
                                .locked_adds = 4,
                                .clock_reads = 1,
                                .other_calls = 3};

    EXPECT_EQ(costs(encapsulated({.payload = 3072}), XDP_REDIRECT), expected);
}

TEST_F(host_rx_counts, sack)
{
    const packet_costs expected{.array_look_ups = 5,
                                .per_cpu_look_ups = 1,
                                .hash_look_ups = 1,
                                .locked_adds = 5,
                                .clock_reads = 1,
                                .other_calls = 3};

    EXPECT_EQ(costs(encapsulated({.bth = {.opcode = MRC_OP_SACK, .dqp = host_qpn}}), XDP_REDIRECT), expected);
}

TEST_F(host_rx_counts, overlay)
{
    const packet_builder outer =
        packet_builder().ethernet().ipv6({.source = peer_plane_address, .destination = host_usid});
    const packet_costs expected{.array_look_ups = 2, .per_cpu_look_ups = 1, .locked_adds = 2, .other_calls = 2};

    EXPECT_EQ(costs(ipv6_ping(outer, 0), XDP_PASS), expected);
}

} // namespace
} // namespace mrc::test
