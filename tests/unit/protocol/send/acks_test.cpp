// SPDX-License-Identifier: Apache-2.0
#include "unit/protocol/send/requester_fixture.h"

namespace mrc::protocol
{
namespace
{

TEST_F(requester_test, cuts_writes_into_self_describing_packets)
{
    ASSERT_TRUE(requester_.post({.id = 1, .source = {5, 0x1000, 2500}, .remote_va = 0x9000, .rkey = 7}, now_));
    ASSERT_TRUE(requester_.post({.id = 2, .source = {5, 0x8000, 0}, .remote_va = 0x7000, .rkey = 7}, now_));
    const auto sent = send();
    ASSERT_EQ(sent.size(), 4u);
    const std::array opcodes{MRC_OP_WRITE_FIRST, MRC_OP_WRITE_MIDDLE, MRC_OP_WRITE_LAST, MRC_OP_WRITE_ONLY};
    const std::array<std::uint32_t, 4> bytes{1024, 1024, 452, 0};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(data(sent[i]).opcode, opcodes[i]);
        EXPECT_EQ(data(sent[i]).sequence, at(static_cast<packet_number>(i)));
        EXPECT_EQ(data(sent[i]).payload_bytes, bytes[i]);
        EXPECT_EQ(sent[i].payload.bytes, bytes[i]);
        EXPECT_EQ(data(sent[i]).message_bytes, i < 3 ? 2500u : 0u);
        EXPECT_EQ(data(sent[i]).msn, i < 3 ? 0 : 1);
        EXPECT_EQ(data(sent[i]).tx_timestamp, wire_timestamp(now_));
        EXPECT_EQ(data(sent[i]).ack_request, i == 3) << "nothing follows the last";
        EXPECT_FALSE(data(sent[i]).retransmission);
        EXPECT_EQ(sent[i].dscp, MRC_DSCP_TRIMMABLE);
        EXPECT_EQ(sent[i].ecn, MRC_ECN_ECT0);
    }
    EXPECT_EQ(data(sent[2]).va, 0x9000u + 2048);
    EXPECT_EQ(sent[2].payload.address, 0x1000u + 2048);
    EXPECT_EQ(data(sent[3]).va, 0x7000u);
}

TEST_F(requester_test, stays_one_short_of_the_psn_window)
{
    post(1000);
    const auto sent = send();
    EXPECT_EQ(sent.size(), 127u);
    EXPECT_TRUE(data(sent.back()).ack_request) << "the window is used up";
    now_ += 50us;
    receive(sack(9, 0, sent[9]));
    EXPECT_EQ(send().size(), 10u);
}

TEST_F(requester_test, completes_on_transport_ack_not_on_sack)
{
    post(2);
    post(2);
    const auto sent = send();
    now_ += 50us;
    receive(sack(3, 0, sent[3]));
    EXPECT_FALSE(requester_.next_completion());
    EXPECT_EQ(requester_.inflight_packets(), 0u);
    acknowledge(1);
    EXPECT_EQ(requester_.next_completion()->id, 1u);
    EXPECT_FALSE(requester_.next_completion());
    acknowledge(3);
    EXPECT_EQ(requester_.next_completion()->id, 2u);
}

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

TEST_F(requester_test, gap_is_a_loss_only_when_a_later_packet_of_the_same_path_arrived)
{
    post(8);
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

TEST_F(requester_test, ack_psn_alone_is_no_evidence_of_absence)
{
    post(100);
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

TEST_F(requester_test, impossible_sacks_are_rejected)
{
    post(4);
    const auto sent = send();
    now_ += 50us;
    receive(sack(4, 0, sent[3])); // acknowledges what was never sent
    sack_packet bits = sack(-1, 1u << 4, sent[3]);
    receive(bits);
    sack_packet trigger = sack(-1, 0, sent[3]);
    trigger.ack_psn_offset = 5;
    receive(trigger);
    acknowledge(4);
    EXPECT_EQ(counters_.sacks_rejected, 3u);
    EXPECT_EQ(counters_.acks_rejected, 1u);
    EXPECT_EQ(requester_.inflight_packets(), 4u);
}

TEST_F(requester_test, trimmed_packet_is_sent_again_at_once_and_its_path_skipped)
{
    post(4);
    const auto sent = send();
    now_ += 30us;
    nack_packet nack;
    nack.sequence = at(1);
    nack.reason = MRC_NACK_TRIMMED;
    nack.entropy = sent[1].entropy;
    nack.tx_timestamp = *data(sent[1]).tx_timestamp;
    arrival how;
    how.at = now_;
    requester_.on_nack(nack, how, now_);
    EXPECT_TRUE(selector_.skipped(*paths_.slot_of(sent[1].entropy)));
    const auto again = send();
    ASSERT_EQ(again.size(), 1u);
    EXPECT_EQ(data(again[0]).sequence, at(1));
    requester_.on_nack(nack, how, now_);
    EXPECT_TRUE(send().empty()) << "the NACK of an earlier transmission";
}

TEST_F(requester_test, resource_nack_waits_for_the_timer)
{
    post(1);
    const auto sent = send();
    now_ += 30us;
    nack_packet nack;
    nack.sequence = at(0);
    nack.reason = MRC_NACK_NO_RESOURCE;
    nack.entropy = sent[0].entropy;
    nack.tx_timestamp = *data(sent[0]).tx_timestamp;
    arrival how;
    how.at = now_;
    requester_.on_nack(nack, how, now_);
    EXPECT_EQ(control_.inflight(), 0);
    EXPECT_TRUE(send().empty());
    const instant until = now_ + 10ms;
    bool resent = false;
    while (!resent && now_ < until) {
        now_ = requester_.next_deadline();
        requester_.on_timer(now_);
        for (const outgoing &packet : send())
            resent = resent || std::holds_alternative<data_packet>(packet.content);
    }
    EXPECT_TRUE(resent);
    EXPECT_EQ(counters_.timeouts, 0u);
}

TEST_F(requester_test, unexpected_event_fails_only_for_packets_in_flight)
{
    post(2);
    const auto sent = send();
    nack_packet nack;
    nack.reason = MRC_NACK_UNEXP_EVENT;
    nack.sequence = at(7);
    requester_.on_nack(nack, {}, now_);
    EXPECT_FALSE(requester_.failure()) << "forged";
    nack.sequence = at(1);
    requester_.on_nack(nack, {}, now_);
    EXPECT_EQ(requester_.failure(), completion_status::remote_operation_error);
}

// Syndromes of IBTA 9.7.5.2.
TEST_F(requester_test, nak_completes_what_came_before_and_names_the_error)
{
    post(2);
    post(2);
    (void)send();
    acknowledge(2, MRC_AETH_NAK_REMOTE_ACCESS);
    EXPECT_EQ(requester_.next_completion()->status, completion_status::success);
    ASSERT_EQ(requester_.failure(), completion_status::remote_access_error);
    requester_.fail(*requester_.failure());
    EXPECT_EQ(requester_.next_completion()->status, completion_status::remote_access_error);
    EXPECT_EQ(control_.inflight(), 0);
    EXPECT_EQ(requester_.next_deadline(), never);
}

// One that guesses PSNs: the peer can only refuse what it has not acknowledged.
TEST_F(requester_test, nak_of_what_was_executed_is_forged)
{
    post(2);
    post(3);
    (void)send();
    acknowledge(1);
    for (const packet_number number : {-1, 0, 1})
        acknowledge(number, MRC_AETH_NAK_REMOTE_ACCESS);
    EXPECT_EQ(counters_.acks_rejected, 3u);
    EXPECT_FALSE(requester_.failure());
    acknowledge(4);
    acknowledge(4, MRC_AETH_NAK_REMOTE_ACCESS);
    EXPECT_EQ(counters_.acks_rejected, 4u) << "nothing waits for an answer";
    EXPECT_FALSE(requester_.failure());
}

TEST_F(requester_test, nak_may_lie_behind_what_is_sacked)
{
    post(4);
    const auto sent = send();
    now_ += 50us;
    receive(sack(3, 0, sent[3]));
    acknowledge(1, MRC_AETH_NAK_REMOTE_ACCESS);
    EXPECT_EQ(requester_.failure(), completion_status::remote_access_error) << "SACKed is not written";
}

TEST_F(requester_test, silence_probes_and_sends_only_the_oldest_again)
{
    post(20);
    (void)send();
    std::vector<outgoing> sent;
    const instant until = now_ + 20ms;
    while (now_ < until) {
        now_ = requester_.next_deadline();
        requester_.on_timer(now_);
        for (const outgoing &packet : send())
            sent.push_back(packet);
    }
    unsigned probes = 0;
    for (const outgoing &packet : sent) {
        if (std::holds_alternative<probe_packet>(packet.content))
            ++probes;
        else
            EXPECT_EQ(data(packet).sequence, at(0));
    }
    EXPECT_GE(probes, 2u);
    EXPECT_LE(sent.size(), 15u);
    EXPECT_EQ(counters_.silences, 1u);
    EXPECT_FALSE(paths_.next_transition()) << "nobody is to blame";
}

TEST_F(requester_test, lost_port_repeats_its_packets_at_once_elsewhere)
{
    post(8);
    const auto sent = send();
    local_.up.set(plane{1}, false);
    const auto again = send();
    ASSERT_EQ(again.size(), 4u);
    for (const outgoing &packet : again) {
        EXPECT_TRUE(data(packet).retransmission);
        EXPECT_EQ(mrc_ev_plane(packet.entropy.value), 0u);
    }
    EXPECT_FALSE(paths_.next_transition());
}

TEST_F(requester_test, without_trim_nack_nothing_is_trimmable)
{
    qp_config config = make_config();
    config.trim_nack = false;
    requester other{config, {paths_, peer_ports_, peer_}, selector_, control_, counters_};
    ASSERT_TRUE(other.post({.id = 1, .source = {5, 0, 10}, .remote_va = 0, .rkey = 7}, now_));
    EXPECT_EQ(other.next_packet(now_)->dscp, MRC_DSCP_NO_TRIM);
}

} // namespace
} // namespace mrc::protocol
