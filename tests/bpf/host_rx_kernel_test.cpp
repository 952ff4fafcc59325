// SPDX-License-Identifier: Apache-2.0
//
// host_rx, packet by packet: what goes to the kernel, popped or untouched, and what no port lets in.

#include "host_rx_fixture.h"

namespace mrc::test
{
namespace
{

class host_rx_on_foreign_port : public host_rx
{
protected:
    host_rx_on_foreign_port() { settings_.fabric = false; }
};

TEST_F(host_rx, drops_carriers_that_do_not_end_here_or_carry_no_ip)
{
    mrc_packet next_usid;
    next_usid.outer.destination = ip6("fcbb:bb00:8201:2000::");
    mrc_packet argument;
    argument.outer.destination = ip6("fcbb:bb00:8201::1");
    mrc_packet routing_header;
    routing_header.outer.next_header = IPPROTO_ROUTING;
    mrc_packet wrong_family;
    wrong_family.outer.next_header = IPPROTO_IPIP;

    expect(encapsulated(next_usid), MRC_RX_DROP_CARRIER_LEFT, XDP_DROP);
    expect(encapsulated(argument), MRC_RX_DROP_CARRIER_LEFT, XDP_DROP);
    expect(encapsulated(routing_header), MRC_RX_DROP_INNER, XDP_DROP);
    expect(encapsulated(wrong_family), MRC_RX_DROP_INNER, XDP_DROP);
}

TEST_F(host_rx, leaves_foreign_traffic_untouched)
{
    mrc_packet other_usid;
    other_usid.outer.destination = ip6("fcbb:bb00:8202::");
    const mrc_packet roce{.bth = {.opcode = 0x0A, .dqp = host_qpn}};

    expect_untouched(encapsulated(other_usid), MRC_RX_PASS_NOT_OURS);
    expect_untouched(plain(roce), MRC_RX_PASS_NOT_OURS);
    expect_untouched(plain({.destination = ip6("fd6d:7263::0:3")}), MRC_RX_PASS_NOT_OURS);
    expect_untouched(plain({.port = 4793}), MRC_RX_PASS_NOT_OURS);
    expect_untouched(packet_builder().ethernet({.type = ETH_P_ARP}).fill(46).build(), MRC_RX_PASS_NOT_OURS);
    expect_untouched(
        packet_builder().ethernet().ipv6({.destination = host_address, .next_header = 58}).fill(24).build(),
        MRC_RX_PASS_NOT_OURS);
    expect_untouched(packet_builder().ethernet({.type = ETH_P_IP}).fill(8).build(), MRC_RX_PASS_MALFORMED);
    expect_untouched(packet_builder().ethernet().ipv6({.version = 5}).fill(24).build(), MRC_RX_PASS_MALFORMED);
    EXPECT_EQ(program_->port().rx_packets, 0U);
}

TEST_F(host_rx, pops_foreign_traffic_for_the_kernel)
{
    const mrc_packet roce{.bth = {.opcode = 0x0A, .dqp = host_qpn}};
    const prog_run_result result = expect(encapsulated(roce), MRC_RX_PASS_POPPED, XDP_PASS);

    EXPECT_TRUE(same_bytes(plain(roce), result.packet));
    EXPECT_EQ(program_->port().rx_packets, 1U);
}

// RFC 6040, figure 4: rows are the inner field, columns the outer one, both in the order Not-ECT, ECT(1), ECT(0), CE.
constexpr int dropped = -1;
constexpr int ecn_figure4[4][4] = {
    {MRC_ECN_NOT_ECT, MRC_ECN_NOT_ECT, MRC_ECN_NOT_ECT, dropped},
    {MRC_ECN_ECT1, MRC_ECN_ECT1, MRC_ECN_ECT1, MRC_ECN_CE},
    {MRC_ECN_ECT0, MRC_ECN_ECT1, MRC_ECN_ECT0, MRC_ECN_CE},
    {MRC_ECN_CE, MRC_ECN_CE, MRC_ECN_CE, MRC_ECN_CE},
};

frame ipv4_ping(packet_builder builder, std::uint8_t ecn)
{
    return builder.ipv4({.source = peer_address4, .destination = host_address4, .protocol = 1, .dscp = 46, .ecn = ecn})
        .fill(64)
        .build();
}

TEST_F(host_rx, ecn_of_popped_packets_follows_rfc6040)
{
    for (std::uint8_t inner = 0; inner < 4; inner++) {
        for (std::uint8_t outer = 0; outer < 4; outer++) {
            SCOPED_TRACE(std::to_string(inner) + " under " + std::to_string(outer));
            const int ecn = ecn_figure4[inner][outer];
            const frame six =
                ipv6_ping(packet_builder().ethernet().ipv6({.destination = host_usid, .ecn = outer}), inner);
            const frame four = ipv4_ping(
                packet_builder().ethernet().ipv6({.destination = host_usid, .next_header = IPPROTO_IPIP, .ecn = outer}),
                inner);
            if (ecn == dropped) {
                expect(six, MRC_RX_DROP_CE_NOT_ECT, XDP_DROP);
                expect(four, MRC_RX_DROP_CE_NOT_ECT, XDP_DROP);
                continue;
            }
            // The builder computes the IPv4 checksum afresh, the program updates it.
            const frame six_popped = ipv6_ping(packet_builder().ethernet(), static_cast<std::uint8_t>(ecn));
            const frame four_popped =
                ipv4_ping(packet_builder().ethernet({.type = ETH_P_IP}), static_cast<std::uint8_t>(ecn));
            EXPECT_TRUE(same_bytes(six_popped, expect(six, MRC_RX_PASS_POPPED, XDP_PASS).packet));
            EXPECT_TRUE(same_bytes(four_popped, expect(four, MRC_RX_PASS_POPPED, XDP_PASS).packet));
        }
    }
}

TEST_F(host_rx_on_foreign_port, drops_mrc_and_the_usid_block_only)
{
    mrc_packet other_usid;
    other_usid.outer.destination = ip6("fcbb:bb00:2000:1000::");

    expect(encapsulated({}), MRC_RX_DROP_NOT_FABRIC, XDP_DROP);
    expect(encapsulated(other_usid), MRC_RX_DROP_NOT_FABRIC, XDP_DROP);
    expect(plain({}), MRC_RX_DROP_NOT_FABRIC, XDP_DROP);
    expect_untouched(ipv6_ping(packet_builder().ethernet(), 0), MRC_RX_PASS_NOT_OURS);
}

} // namespace
} // namespace mrc::test
