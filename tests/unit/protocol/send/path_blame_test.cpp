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

// The copy of the packet that made the silence: which path swallowed the original, if one did?
TEST_F(path_blame_test, path_of_a_silence_is_blamed_when_the_copy_is_answered_at_once)
{
    for (const duration answer :
         {duration{3ms}, duration{50us}}) { // of a time-out of 4 ms: there is no sample of a round trip
        counters_ = {};
        requester_state other{make_config(), {paths_, peer_ports_, peer_}, proofs_, selector_, control_, counters_};
        ASSERT_TRUE(post(other, {.id = 1, .source = {5, 0, payload_bytes}, .remote_va = 0, .rkey = 7}));
        const outgoing swallowed = next_packet(other, now_).value();
        while (counters_.silences == 0)
            on_timer(other, now_ = next_deadline(other));
        std::optional<outgoing> copy = next_packet(other, now_);
        while (copy && !std::holds_alternative<data_packet>(copy->content))
            copy = next_packet(other, now_);
        ASSERT_TRUE(copy);
        now_ += answer;
        arrival how;
        how.at = now_;
        on_sack(other, sack(0, 0, *copy), how, now_);
        const unsigned slot = paths_.slot_of(swallowed.entropy).value();
        EXPECT_EQ(paths_.counters(slot).losses, answer < 1ms ? 1u : 0u);
    }
}

} // namespace
} // namespace mrc::protocol
