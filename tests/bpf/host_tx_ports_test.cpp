// SPDX-License-Identifier: Apache-2.0
//
// host_tx: UDP to MRC's ports does not leave the host by ordinary sockets, whatever stands in front of the ports.
#include "host_tx_fixture.h"

namespace mrc::test
{
namespace
{

packet_builder to_peer(std::uint8_t next_header)
{
    packet_builder builder;

    return builder.ethernet().ipv6({.source = host_address, .destination = peer_address, .next_header = next_header});
}

packet_builder to_peer4(std::uint16_t fragment = 0, std::size_t option_words = 0)
{
    packet_builder builder;

    return builder.ethernet({.type = ETH_P_IP})
        .ipv4({.source = host_address4,
               .destination = peer_address4,
               .fragment = fragment,
               .option_words = option_words});
}

packet_bytes datagram(packet_builder builder, std::uint16_t destination)
{
    return builder.udp({.source = 1024, .destination = destination}).fill(100).build();
}

TEST_F(host_tx, drops_what_a_socket_sends_to_the_ports_of_mrc)
{
    for (const std::uint16_t port : mrc_ports) {
        SCOPED_TRACE(port);
        expect(datagram(to_peer(IPPROTO_UDP), port), MRC_TX_DROP_MRC_PORT, TC_ACT_SHOT);
        expect(datagram(to_peer4(), port), MRC_TX_DROP_MRC_PORT, TC_ACT_SHOT);
        expect(datagram(to_peer4(0x4000), port), MRC_TX_DROP_MRC_PORT, TC_ACT_SHOT);
        expect(datagram(to_peer4(0, 10), port), MRC_TX_DROP_MRC_PORT, TC_ACT_SHOT);
        for (const int next : {-1, 1}) {
            const auto neighbour = static_cast<std::uint16_t>(port + next);
            expect(datagram(to_peer(IPPROTO_UDP), neighbour), MRC_TX_PUSHED, TC_ACT_REDIRECT);
            expect(datagram(to_peer4(), neighbour), MRC_TX_PUSHED, TC_ACT_REDIRECT);
        }
        // The port that it comes from, and other protocols' ports, say nothing.
        expect(ipv6_datagram(port, 5001), MRC_TX_PUSHED, TC_ACT_REDIRECT);
        expect(to_peer(IPPROTO_TCP).be16(1024).be16(port).fill(16).build(), MRC_TX_PUSHED, TC_ACT_REDIRECT);
    }
}

TEST_F(host_tx, finds_the_ports_of_mrc_behind_extension_headers)
{
    for (const std::uint8_t kind :
         std::to_array<std::uint8_t>({IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_DSTOPTS, IPPROTO_AH})) {
        for (const std::size_t words : {2U, 3U, 30U}) {
            SCOPED_TRACE(std::to_string(kind) + " of " + std::to_string(words));
            const auto behind = [&](std::uint16_t port) {
                return datagram(to_peer(kind).extension({.kind = kind, .words = words}), port);
            };
            expect(behind(MRC_UDP_PORT_ROCE), MRC_TX_DROP_MRC_PORT, TC_ACT_SHOT);
            expect(behind(5001), MRC_TX_PUSHED, TC_ACT_REDIRECT);
        }
    }
    for (const std::size_t headers : {6U, 7U}) {
        packet_builder builder = to_peer(IPPROTO_DSTOPTS);
        for (std::size_t i = 1; i <= headers; i++)
            builder.extension({.next_header = i < headers ? std::uint8_t{IPPROTO_DSTOPTS} : std::uint8_t{IPPROTO_UDP}});
        expect(datagram(builder, MRC_UDP_PORT_ROCE), headers == 6 ? MRC_TX_DROP_MRC_PORT : MRC_TX_DROP_HEADERS,
               TC_ACT_SHOT);
    }
}

// A later fragment passes: without the first, which has the ports, nobody can put the packet together.
TEST_F(host_tx, drops_the_first_fragment_of_what_is_for_the_ports_of_mrc)
{
    const auto fragment = [](std::uint16_t offset_and_flag, std::uint8_t next_header = IPPROTO_UDP) {
        return to_peer(IPPROTO_FRAGMENT)
            .extension({.kind = IPPROTO_FRAGMENT, .next_header = next_header, .fragment = offset_and_flag});
    };
    constexpr std::uint16_t more6 = 1;
    constexpr std::uint16_t more4 = 0x2000;

    expect(datagram(fragment(more6), MRC_UDP_PORT_ROCE), MRC_TX_DROP_MRC_PORT, TC_ACT_SHOT);
    expect(datagram(fragment(0), MRC_UDP_PORT_ROCE), MRC_TX_DROP_MRC_PORT, TC_ACT_SHOT);
    expect(datagram(to_peer4(more4), MRC_UDP_PORT_ROCE), MRC_TX_DROP_MRC_PORT, TC_ACT_SHOT);
    expect(datagram(fragment(more6), 5001), MRC_TX_PUSHED, TC_ACT_REDIRECT);
    expect(datagram(to_peer4(more4), 5001), MRC_TX_PUSHED, TC_ACT_REDIRECT);
    // What the data of a later fragment looks like does not matter.
    expect(datagram(fragment(8 | more6), MRC_UDP_PORT_ROCE), MRC_TX_PUSHED, TC_ACT_REDIRECT);
    expect(datagram(fragment(8), MRC_UDP_PORT_ROCE), MRC_TX_PUSHED, TC_ACT_REDIRECT);
    expect(datagram(to_peer4(1 | more4), MRC_UDP_PORT_ROCE), MRC_TX_PUSHED, TC_ACT_REDIRECT);
    expect(datagram(to_peer4(1), MRC_UDP_PORT_ROCE), MRC_TX_PUSHED, TC_ACT_REDIRECT);
    // The ports must stand in the first, not behind headers that fill it (RFC 7112).
    expect(fragment(more6, IPPROTO_DSTOPTS).extension({}).build(), MRC_TX_DROP_HEADERS, TC_ACT_SHOT);
    expect(fragment(more6).be16(1024).be16(MRC_UDP_PORT_ROCE).build(), MRC_TX_DROP_HEADERS, TC_ACT_SHOT);
    expect(to_peer4(more4).be16(1024).be16(MRC_UDP_PORT_ROCE).build(), MRC_TX_DROP_HEADERS, TC_ACT_SHOT);
}

TEST_F(host_tx_with_mrc_from_sockets, sprays_it_packet_by_packet)
{
    for (const std::uint16_t port : mrc_ports) {
        const auto taken = paths_taken(std::vector<packet_bytes>(400, ipv6_datagram(1024, port)));
        ASSERT_EQ(taken.size(), 400U);
        EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), 8U);
    }
}

// The kernel refuses to run TC programs on less than an IP header; from there on every length has one verdict.
TEST_F(host_tx, truncated_at_every_length)
{
    const packet_bytes whole = ipv6_datagram(1024, MRC_UDP_PORT_ROCE);

    for (std::size_t length = 54; length < whole.size(); length++) {
        SCOPED_TRACE(length);
        const bool udp_is_whole = length >= 54 + 8;
        expect(packet_bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)),
               udp_is_whole ? MRC_TX_DROP_MRC_PORT : MRC_TX_DROP_HEADERS, TC_ACT_SHOT);
    }
}

} // namespace
} // namespace mrc::test
