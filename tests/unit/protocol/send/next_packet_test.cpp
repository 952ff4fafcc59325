// SPDX-License-Identifier: Apache-2.0
#include "unit/protocol/send/requester_fixture.h"

namespace mrc::protocol
{
namespace
{

using next_packet_test = requester_test;

TEST_F(next_packet_test, cuts_writes_into_self_describing_packets)
{
    ASSERT_TRUE(post(requester_, {.id = 1, .source = {5, 0x1000, 2500}, .remote_va = 0x9000, .rkey = 7}));
    ASSERT_TRUE(post(requester_, {.id = 2, .source = {5, 0x8000, 0}, .remote_va = 0x7000, .rkey = 7}));
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

TEST_F(next_packet_test, stays_one_short_of_the_psn_window)
{
    write(1000);
    const auto sent = send();
    EXPECT_EQ(sent.size(), 127u);
    EXPECT_TRUE(data(sent.back()).ack_request) << "the window is used up";
    now_ += 50us;
    receive(sack(9, 0, sent[9]));
    EXPECT_EQ(send().size(), 10u);
}

TEST_F(next_packet_test, without_trim_nack_nothing_is_trimmable)
{
    qp_config config = make_config();
    config.trim_nack = false;
    requester_state other{config, {paths_, peer_ports_, peer_}, proofs_, selector_, control_, counters_};
    ASSERT_TRUE(post(other, {.id = 1, .source = {5, 0, 10}, .remote_va = 0, .rkey = 7}));
    EXPECT_EQ(next_packet(other, now_)->dscp, MRC_DSCP_NO_TRIM);
}

} // namespace
} // namespace mrc::protocol
