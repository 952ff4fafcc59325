// SPDX-License-Identifier: Apache-2.0
#include "unit/protocol/send/requester_fixture.h"

namespace mrc::protocol
{
namespace
{

class path_blame_test : public requester_test
{
protected:
    // All of these packets arrive, the first of which is number `first`, but those on plane `dead`; each is answered by
    // a SACK.
    void deliver_but(unsigned dead, packet_number first, const std::vector<outgoing> &sent)
    {
        packet_number edge = first - 1;
        std::uint64_t bits = 0; // from edge + 1
        for (std::size_t i = 0; i < sent.size(); ++i) {
            if (plane_of(sent[i]) == dead)
                continue;
            bits |= std::uint64_t{1} << (first + static_cast<packet_number>(i) - edge - 1);
            for (; (bits & 1) != 0; bits >>= 1)
                ++edge;
            receive(sack(edge, bits, sent[i]));
        }
    }
    static constexpr unsigned none = 9;
};

TEST_F(path_blame_test, dead_plane_is_left_within_a_round_trip)
{
    // First a clean exchange teaches it a round trip of 20 us.
    const auto warm = trickle(16);
    now_ += 20us;
    deliver_but(none, 0, warm);
    ASSERT_EQ(counters_.losses_by_age, 0u);

    const auto sent = trickle(40);
    now_ += 20us;
    deliver_but(1, 16, sent);
    EXPECT_GT(counters_.losses_by_age, 0u);
    EXPECT_EQ(counters_.timeouts, 0u);
    EXPECT_EQ(paths_.good_planes().bits(), 0b01u) << "the plane as a whole";
    const auto again = send();
    EXPECT_EQ(again.size(), 20u) << "everything in flight there, at once";
    for (const outgoing &packet : again) {
        EXPECT_TRUE(data(packet).retransmission);
        EXPECT_EQ(plane_of(packet), 0u);
    }
}

// One packet and nothing behind it: the second of the probes at the quiet tail, on another plane, proves it lost by
// age, before a time-out could.
TEST_F(path_blame_test, path_that_swallows_a_lone_packet_is_blamed_by_a_probe_elsewhere)
{
    const auto warm = trickle(16);
    now_ += 20us;
    deliver_but(none, 0, warm);
    acknowledge(15);
    write(1);
    const auto swallowed = send();
    ASSERT_EQ(swallowed.size(), 1u);
    on_timer(requester_, now_ = next_deadline(requester_));
    const auto probes = send();
    ASSERT_EQ(probes.size(), 2u);
    ASSERT_NE(plane_of(probes[1]), plane_of(swallowed[0]));
    now_ += 20us;
    sack_packet answer;
    answer.cack = at(15);
    answer.probe_response = true;
    answer.probe_id = std::get<probe_packet>(probes[1].content).probe_id;
    answer.entropy = probes[1].entropy;
    receive(answer);
    EXPECT_EQ(counters_.losses_by_age, 1u);
    EXPECT_EQ(counters_.timeouts, 0u);
    EXPECT_EQ(paths_.counters(paths_.slot_of(swallowed[0].entropy).value()).losses, 1u);
    const auto again = send();
    ASSERT_EQ(again.size(), 1u);
    EXPECT_NE(plane_of(again[0]), plane_of(swallowed[0]));
}

} // namespace
} // namespace mrc::protocol
