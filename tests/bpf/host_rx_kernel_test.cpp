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

// The uSID block may have 16, 32, 48 or 64 bits.
class host_rx_behind_a_block : public host_rx, public testing::WithParamInterface<std::uint8_t>
{
protected:
    host_rx_behind_a_block()
    {
        settings_.block_bytes = GetParam();
        settings_.usid = with_usids({0x82, 0x01});
    }

    // The block with these bytes behind it.
    static ip6_address with_usids(std::initializer_list<std::uint8_t> bytes)
    {
        ip6_address address = ip6("fcbb:bb00:5:7::");
        std::fill(std::ranges::copy(bytes, address.begin() + GetParam()).out, address.end(), std::uint8_t{0});
        return address;
    }
    static packet_bytes to(const ip6_address &destination)
    {
        mrc_packet packet;
        packet.outer.destination = destination;
        return encapsulated(packet);
    }
};

TEST_P(host_rx_behind_a_block, tells_what_is_ours)
{
    ip6_address other_block = with_usids({0x82, 0x01});
    other_block[GetParam() - 1U] ^= 1U;

    expect_steered(to(with_usids({0x82, 0x01})), plain({}));
    expect(to(with_usids({0x82, 0x01, 0x20, 0x00})), MRC_RX_DROP_CARRIER_LEFT, XDP_DROP);
    expect(to(with_usids({0x82, 0x01, 0, 0, 0, 0, 0, 1})), MRC_RX_DROP_CARRIER_LEFT, XDP_DROP);
    expect_untouched(to(with_usids({0x82, 0x02})), MRC_RX_PASS_NOT_OURS);
    expect_untouched(to(other_block), MRC_RX_PASS_NOT_OURS);
}

INSTANTIATE_TEST_SUITE_P(of, host_rx_behind_a_block, testing::Values<std::uint8_t>(2, 4, 6, 8));

TEST_F(host_rx, passes_other_traffic_unchanged)
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

TEST_F(host_rx, decapsulates_other_traffic_for_the_kernel)
{
    const mrc_packet roce{.bth = {.opcode = 0x0A, .dqp = host_qpn}};
    const prog_run_result result = expect(encapsulated(roce), MRC_RX_PASS_POPPED, XDP_PASS);

    EXPECT_TRUE(same_bytes(plain(roce), result.packet));
    EXPECT_EQ(program_->port().rx_packets, 1U);
}

packet_builder carried(std::uint8_t next_header)
{
    packet_builder builder;

    return builder.ethernet().ipv6(
        {.source = peer_plane_address, .destination = host_usid, .next_header = next_header});
}

TEST_F(host_rx, lets_in_under_its_usid_only_what_is_for_its_own_addresses)
{
    for (const char *foreign : {"fd6d:7263::0:3", "fd6d:7263:0:1::0:2", "2001:db8::1", "ff02::1", "fe80::1", "::1"}) {
        SCOPED_TRACE(foreign);
        expect(carried(IPPROTO_IPV6).ipv6({.destination = ip6(foreign), .next_header = 6}).fill(40).build(),
               MRC_RX_DROP_FOREIGN, XDP_DROP);
        expect(encapsulated({.destination = ip6(foreign)}), MRC_RX_DROP_FOREIGN, XDP_DROP);
    }
    for (const char *foreign : {"10.0.0.3", "127.0.0.1", "224.0.0.1", "255.255.255.255"}) {
        SCOPED_TRACE(foreign);
        expect(carried(IPPROTO_IPIP).ipv4({.destination = ip4(foreign), .protocol = 6}).fill(40).build(),
               MRC_RX_DROP_FOREIGN, XDP_DROP);
    }
    for (const ip6_address &own : {host_address, host_plane_address})
        expect(carried(IPPROTO_IPV6).ipv6({.destination = own, .next_header = 6}).fill(40).build(), MRC_RX_PASS_POPPED,
               XDP_PASS);
    expect(carried(IPPROTO_IPIP).ipv4({.destination = host_address4, .protocol = 6}).fill(40).build(),
           MRC_RX_PASS_POPPED, XDP_PASS);
}

packet_bytes icmpv6(packet_builder builder, std::uint8_t type)
{
    return builder.byte(type).fill(63).build();
}

packet_builder carried_to_host(std::uint8_t next_header)
{
    return carried(IPPROTO_IPV6)
        .ipv6({.source = peer_address, .destination = host_address, .next_header = next_header, .hop_limit = 255});
}

TEST_F(host_rx, neighbour_discovery_stays_on_its_link)
{
    const auto with_options = [](std::size_t headers) {
        packet_builder builder = carried_to_host(IPPROTO_DSTOPTS);
        for (std::size_t i = 1; i <= headers; i++)
            builder.extension({.next_header = i < headers ? std::uint8_t{IPPROTO_DSTOPTS} : std::uint8_t{58}});
        return builder;
    };
    const auto fragment = [](std::uint16_t offset_and_flag) {
        return carried_to_host(IPPROTO_FRAGMENT)
            .extension({.kind = IPPROTO_FRAGMENT, .next_header = 58, .fragment = offset_and_flag});
    };

    for (std::uint8_t type = 133; type <= 137; type++) {
        SCOPED_TRACE(int{type});
        expect(icmpv6(carried_to_host(58), type), MRC_RX_DROP_NEIGHBOUR, XDP_DROP);
        expect(icmpv6(with_options(1), type), MRC_RX_DROP_NEIGHBOUR, XDP_DROP);
        expect(icmpv6(with_options(6), type), MRC_RX_DROP_NEIGHBOUR, XDP_DROP);
        expect(icmpv6(with_options(7), type), MRC_RX_DROP_INNER, XDP_DROP);
        expect(icmpv6(fragment(1), type), MRC_RX_DROP_NEIGHBOUR, XDP_DROP);
        expect(icmpv6(fragment(64), type), MRC_RX_PASS_POPPED, XDP_PASS);
    }
    for (const std::uint8_t type : std::to_array<std::uint8_t>({1, 128, 129, 132, 138}))
        expect(icmpv6(carried_to_host(58), type), MRC_RX_PASS_POPPED, XDP_PASS);
    expect(carried_to_host(58).build(), MRC_RX_DROP_INNER, XDP_DROP);
    // On the link itself it is the kernel's as ever.
    expect_untouched(icmpv6(packet_builder().ethernet().ipv6({.destination = host_address, .next_header = 58}), 135),
                     MRC_RX_PASS_NOT_OURS);
}

// RFC 6040, figure 4: rows are the inner field, columns the outer one, both in the order Not-ECT, ECT(1), ECT(0), CE.
constexpr int dropped = -1;
constexpr int ecn_figure4[4][4] = {
    {MRC_ECN_NOT_ECT, MRC_ECN_NOT_ECT, MRC_ECN_NOT_ECT, dropped},
    {MRC_ECN_ECT1, MRC_ECN_ECT1, MRC_ECN_ECT1, MRC_ECN_CE},
    {MRC_ECN_ECT0, MRC_ECN_ECT1, MRC_ECN_ECT0, MRC_ECN_CE},
    {MRC_ECN_CE, MRC_ECN_CE, MRC_ECN_CE, MRC_ECN_CE},
};

packet_bytes ipv4_ping(packet_builder builder, std::uint8_t ecn)
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
            const packet_bytes six =
                ipv6_ping(packet_builder().ethernet().ipv6({.destination = host_usid, .ecn = outer}), inner);
            const packet_bytes four = ipv4_ping(
                packet_builder().ethernet().ipv6({.destination = host_usid, .next_header = IPPROTO_IPIP, .ecn = outer}),
                inner);
            if (ecn == dropped) {
                expect(six, MRC_RX_DROP_CE_NOT_ECT, XDP_DROP);
                expect(four, MRC_RX_DROP_CE_NOT_ECT, XDP_DROP);
                continue;
            }
            // The builder computes the IPv4 checksum afresh, the program updates it.
            const packet_bytes six_popped = ipv6_ping(packet_builder().ethernet(), static_cast<std::uint8_t>(ecn));
            const packet_bytes four_popped =
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

// Direct mode: sockets' packets come under this host's address on the plane, from peers, and only their own.
class host_rx_direct : public host_rx
{
protected:
    host_rx_direct() { settings_.carrier = MRC_CARRIER_DIRECT; }

    void SetUp() override
    {
        host_rx::SetUp();
        if (!IsSkipped() && !HasFatalFailure())
            update(program_->maps().peers, to_ip(peer_plane_address), remote_peer());
    }

    static packet_builder carried_from(const ip6_address &source)
    {
        return packet_builder().ethernet().ipv6({.source = source, .destination = host_plane_address});
    }
};

TEST_F(host_rx_direct, what_a_peer_carries_goes_to_the_kernel)
{
    const prog_run_result result = expect(ipv6_ping(carried_from(peer_plane_address), 0), MRC_RX_PASS_POPPED, XDP_PASS);
    EXPECT_TRUE(same_bytes(ipv6_ping(packet_builder().ethernet(), 0), result.packet));
}

TEST_F(host_rx_direct, what_anybody_else_carries_is_dropped)
{
    expect(ipv6_ping(carried_from(ip6("fd10::9")), 0), MRC_RX_DROP_UNKNOWN_PEER, XDP_DROP);
    mrc_peer_row other = remote_peer();
    other.sender = peer_sender + 1;
    update(program_->maps().peers, to_ip(ip6("fd10::9")), other);
    expect(ipv6_ping(carried_from(ip6("fd10::9")), 0), MRC_RX_DROP_WRONG_PEER, XDP_DROP);
}

TEST_F(host_rx_direct, what_is_not_for_this_hosts_address_on_the_plane_is_the_kernels)
{
    expect_untouched(
        ipv6_ping(packet_builder().ethernet().ipv6({.source = peer_plane_address, .destination = ip6("fd10::77")}), 0),
        MRC_RX_PASS_NOT_OURS);
    expect_untouched(ipv6_ping(packet_builder().ethernet(), 0), MRC_RX_PASS_NOT_OURS);
}

} // namespace
} // namespace mrc::test
