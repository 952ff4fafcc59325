// SPDX-License-Identifier: Apache-2.0
//
// What the lab's switch does for a packet that it forwards.
#include "counted.h"

#include "../switch_fixture.h"

namespace mrc::test
{
namespace
{

class switch_counts : public switch_fixture
{
protected:
    packet_costs costs(const data_packet &packet)
    {
        return costs_of(program_->progs.switch_port, program_->maps.bss, build(packet), XDP_REDIRECT);
    }

    // Its queue never fills.
    void give_rate(std::uint32_t port)
    {
        mrc_sw_impair_row link{};

        link.flags = MRC_SW_ECN | MRC_SW_TRIM;
        link.rate = 100ULL << MRC_SW_RATE_SHIFT;
        link.trim_bytes = link.drop_bytes = link.priority_bytes = 1U << 30;
        link.ecn_min_bytes = link.ecn_max_bytes = 1U << 30;
        impair(port, link);
    }
};

TEST_F(switch_counts, link_without_a_rate)
{
    const packet_costs expected{
        .array_look_ups = 4, .per_cpu_look_ups = 1, .hash_look_ups = 1, .locked_adds = 4, .other_calls = 2};

    EXPECT_EQ(costs({}), expected);
}

// Through a link with a rate, which has a queue.
constexpr packet_costs queued{.array_look_ups = 5,
                              .per_cpu_look_ups = 1,
                              .hash_look_ups = 1,
                              .locked_adds = 4,
                              .clock_reads = 1,
                              .other_calls = 4};

TEST_F(switch_counts, data_that_may_be_marked)
{
    packet_costs expected = queued;
    expected.random_numbers = 1;

    give_rate(spine_port);
    EXPECT_EQ(costs({}), expected);
}

TEST_F(switch_counts, acknowledgement)
{
    give_rate(spine_port);
    EXPECT_EQ(costs({.dscp = MRC_DSCP_CONTROL, .ecn = MRC_ECN_NOT_ECT, .frame_bytes = 182}), queued);
}

TEST_F(switch_counts, data_on_the_last_link)
{
    give_rate(host_port);
    EXPECT_EQ(costs({.destination = "fcbb:bb00:2000:8000::"}), queued);
}

} // namespace
} // namespace mrc::test
