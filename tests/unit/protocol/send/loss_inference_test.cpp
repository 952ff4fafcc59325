// SPDX-License-Identifier: Apache-2.0
#include "unit/protocol/send/requester_fixture.h"

namespace mrc::protocol
{
namespace
{

using loss_inference_test = requester_test;

// Finds two packets that one path carried, and another path's.
struct same_path {
    std::size_t early = 0;
    std::size_t late = 0;
};

same_path find_same_path(const std::vector<outgoing> &sent)
{
    for (std::size_t late = 1; late < sent.size(); ++late)
        for (std::size_t early = 0; early < late; ++early)
            if (sent[early].path == sent[late].path)
                return {early, late};
    return {};
}

TEST_F(loss_inference_test, gap_is_a_loss_only_when_a_later_packet_of_the_same_path_arrived)
{
    write(8);
    const auto sent = send();
    const auto [early, late] = find_same_path(sent);
    now_ += 50us;
    // All but `early` and what comes from `late` on.
    std::uint64_t bits = (std::uint64_t{1} << late) - 1;
    bits &= ~(std::uint64_t{1} << early);
    sack_packet gap = sack(-1, bits, sent[late - 1 == early ? late - 2 : late - 1]);
    if (late >= 2) {
        receive(gap);
        EXPECT_EQ(counters_.losses, 0u) << "other paths prove nothing";
    }
    receive(sack(-1, bits | std::uint64_t{1} << late, sent[late]));
    EXPECT_EQ(counters_.losses, 1u);
    const auto again = send();
    ASSERT_EQ(again.size(), 1u);
    EXPECT_EQ(data(again[0]).sequence, data(sent[early]).sequence);
    EXPECT_TRUE(data(again[0]).retransmission);
    EXPECT_EQ(data(again[0]).va, data(sent[early]).va);
    EXPECT_NE(mrc_ev_plane(again[0].entropy.value), mrc_ev_plane(sent[early].entropy.value)) << "a fresh EV";
    EXPECT_EQ(again[0].dscp, MRC_DSCP_TRIMMABLE_RETX);
}

TEST_F(loss_inference_test, ack_psn_alone_is_no_evidence_of_absence)
{
    write(100);
    const auto sent = send();
    now_ += 50us;
    // The trigger lies far beyond the bitmap; what lies between is unknown, not missing.
    sack_packet far = sack(-1, 0, sent[90]);
    far.cack = at(39);
    far.ack_psn_offset = 90 - 39;
    far.sack_offset = 1;
    far.bitmap = 0xFF;
    receive(far);
    EXPECT_EQ(counters_.losses, 0u);
}

class lagging_plane_test : public loss_inference_test
{
protected:
    // Plane 1 is late by so many packets, always; in the end all have arrived.
    void exchange(std::size_t packets, std::size_t lag)
    {
        const packet_number first = requester_.next;
        const auto sent = trickle(static_cast<std::uint32_t>(packets));
        now_ += 20us;
        for (std::size_t i = lag; i < packets; ++i) {
            std::uint64_t bits = 0;
            packet_number edge = first - 1;
            for (std::size_t k = 0; k < packets; ++k)
                if (plane_of(sent[k]) == 0 ? k <= i : k + lag <= i)
                    bits |= std::uint64_t{1} << k;
            while ((bits & 1) != 0) {
                bits >>= 1;
                ++edge;
            }
            receive(sack(edge, bits, sent[i - (plane_of(sent[i]) == 0 ? 0 : lag)]));
            now_ += 1us;
        }
        receive(sack(first + static_cast<packet_number>(packets) - 1, 0, sent[packets - 1]));
    }
};

TEST_F(lagging_plane_test, overtaking_within_the_skew_is_no_loss)
{
    exchange(16, 10);
    EXPECT_EQ(counters_.losses + counters_.losses_by_age, 0u);
    exchange(30, 25);
    EXPECT_LT(requester_.rtt.smoothed() / 2, 25us) << "what is waited for although nothing has lagged yet";
    EXPECT_EQ(counters_.losses + counters_.losses_by_age, 0u);
    EXPECT_EQ(paths_.good_planes().bits(), 0b11u);
}

TEST_F(loss_inference_test, packet_is_lost_when_one_sent_much_later_has_arrived_on_another_path)
{
    const auto first = trickle(8);
    now_ += 20us;
    receive(sack(7, 0, first[7]));
    write(1);
    const auto missing = send();
    now_ += 500us;
    write(1);
    const auto later = send();
    ASSERT_NE(missing[0].path, later[0].path);
    now_ += 20us;
    receive(sack(7, 0b10, later[0]));
    EXPECT_EQ(counters_.losses, 0u);
    EXPECT_EQ(counters_.losses_by_age, 1u);
}

// Such a peer gives no RTT samples, so there is no age; and of a hundred packets no two take the same path.
TEST_F(loss_inference_test, peer_that_reflects_no_entropy_is_served_by_sleek)
{
    path_group_config many = make_group();
    many.uplinks = 64;
    path_group paths{many, local_};
    sack_proofs proofs{paths.size()};
    mrc_selector selector{paths, 1};
    fixed_window narrow{std::uint64_t{16} * nominal_bytes(payload_bytes)};
    requester_state other{make_config(), {paths, peer_ports_, peer_}, proofs, selector, narrow, counters_};
    ASSERT_TRUE(post(other, {.id = 1, .source = {5, 0x1000, 100 * payload_bytes}, .remote_va = 0, .rkey = 7}));
    // Packet 0 is lost; everything after it arrives and frees the window.
    unsigned again = 0;
    packet_number begun_at = 0;
    for (packet_number newest = 0; newest < 60 && again == 0;) {
        std::vector<outgoing> sent;
        while (auto packet = next_packet(other, now_))
            sent.push_back(*packet);
        now_ += 30us;
        for (const outgoing &packet : sent) {
            if (std::holds_alternative<probe_packet>(packet.content))
                continue;
            again += data(packet).retransmission && data(packet).sequence == at(0) ? 1 : 0;
            newest = std::max(newest, psn_space{psn{0xFFFFFE}}.number_of(data(packet).sequence, newest));
        }
        sack_packet blind;
        blind.cack = at(-1);
        blind.ack_psn_offset = static_cast<std::int16_t>(newest + 1);
        blind.bitmap = (newest >= 63 ? ~std::uint64_t{0} : (std::uint64_t{1} << (newest + 1)) - 1) & ~std::uint64_t{1};
        blind.ooo_count = static_cast<std::uint16_t>(newest);
        arrival how;
        how.at = now_;
        on_sack(other, blind, how, now_);
        begun_at = begun_at == 0 && counters_.losses_by_sleek != 0 ? newest : begun_at;
    }
    EXPECT_GE(begun_at, 24) << "one and a half windows";
    EXPECT_EQ(again, 1u);
    EXPECT_EQ(counters_.losses_by_sleek, 1u);
    EXPECT_EQ(counters_.timeouts, 0u);
}

} // namespace
} // namespace mrc::protocol
