// SPDX-License-Identifier: Apache-2.0
//
// host_tx: every output byte and the choice of paths, by single runs.
#include <iostream>

#include "host_tx_fixture.h"

namespace mrc::test
{
namespace
{

std::vector<packet_bytes> flows(std::uint16_t count)
{
    std::vector<packet_bytes> packets;

    packets.reserve(count);
    for (std::uint16_t i = 0; i < count; i++)
        packets.push_back(ipv6_datagram(static_cast<std::uint16_t>(1024 + i), 5001));
    return packets;
}

TEST_F(host_tx, pushes_every_byte_of_the_outer_header)
{
    for (std::uint32_t plane = 0; plane < peer_planes; plane++) {
        set_host_planes(1U << plane);
        for (std::uint8_t ecn = 0; ecn < 4; ecn++) {
            const packet_bytes packet = ipv6_datagram(1024, 5001, ecn);
            const prog_run_result result = expect(packet, MRC_TX_PUSHED, TC_ACT_REDIRECT);
            ASSERT_EQ(result.packet.size(), packet.size() + 40);
            const std::uint32_t uplink = result.packet[14 + 24 + 7];
            const packet_bytes expected =
                outer_of(plane, uplink, flow_label_of(result.packet), ecn, IPPROTO_IPV6, std::span(packet).subspan(14));
            EXPECT_TRUE(same_bytes(expected, result.packet));
        }
    }
}

TEST_F(host_tx, the_outer_source_is_the_paths)
{
    set_host_planes(1);
    for (std::uint32_t uplink = 0; uplink < peer_uplinks; uplink++) {
        mrc_path_row row = path(0, uplink);
        row.source = static_cast<__u8>(uplink + 1);
        update(skeleton_->maps.paths, row_of(0, uplink), row);
    }
    const packet_bytes packet = ipv6_datagram(1024, 5001, 0);
    const prog_run_result result = expect(packet, MRC_TX_PUSHED, TC_ACT_REDIRECT);
    ASSERT_EQ(result.packet.size(), packet.size() + 40);
    const std::uint32_t uplink = result.packet[14 + 24 + 7];
    packet_bytes expected =
        outer_of(0, uplink, flow_label_of(result.packet), 0, IPPROTO_IPV6, std::span(packet).subspan(14));
    expected[14 + 8 + MRC_SOURCE_AT] = static_cast<std::uint8_t>(uplink + 1);
    EXPECT_TRUE(same_bytes(expected, result.packet));
}

TEST_F(host_tx, pushes_ipv4_inside_ipv6)
{
    set_host_planes(1U << 1);
    const packet_bytes packet =
        packet_builder()
            .ethernet({.type = ETH_P_IP})
            .ipv4({.source = host_address4, .destination = peer_address4, .protocol = 1, .ecn = 2})
            .fill(64)
            .build();
    const prog_run_result result = expect(packet, MRC_TX_PUSHED, TC_ACT_REDIRECT);

    EXPECT_TRUE(same_bytes(outer_of(1, result.packet[14 + 24 + 7], flow_label_of(result.packet), MRC_ECN_ECT0,
                                    IPPROTO_IPIP, std::span(packet).subspan(14)),
                           result.packet));
}

TEST_F(host_tx, counts_path_and_port)
{
    set_host_planes(1U << 2);
    set_path(2, 0, MRC_PATH_DENIED);
    const packet_bytes packet = ipv6_datagram(1024, 5001);
    run_queued(packet);
    run_queued(packet);

    const auto port = lookup<mrc_port_row>(skeleton_->maps.ports, std::uint32_t{2});
    EXPECT_EQ(path(2, 1).tx_packets, 2U);
    EXPECT_EQ(path(2, 1).tx_bytes, (packet.size() + 40) * 2);
    EXPECT_EQ(port.tx_packets, 2U);
    EXPECT_EQ(port.tx_bytes, (packet.size() + 40) * 2);
    EXPECT_NE(port.last_tx_ns, 0U);
}

TEST_F(host_tx, reports_to_the_agent_whose_paths_sockets_use)
{
    EXPECT_EQ(lookup<mrc_overlay_row>(skeleton_->maps.overlay, peer_group).last_tx_ns, 0U);
    expect(ipv6_datagram(1024, 5001), MRC_TX_PUSHED, TC_ACT_REDIRECT);

    const auto use = lookup<mrc_overlay_row>(skeleton_->maps.overlay, peer_group);
    EXPECT_NE(use.last_tx_ns, 0U);
    EXPECT_EQ(use.host_usid, peer_host_usid);
}

TEST_F(host_tx, a_flow_keeps_its_path_and_flows_use_all)
{
    const std::vector<packet_bytes> one_flow(50, ipv6_datagram(1024, 5001));
    const auto taken = paths_taken(one_flow);
    ASSERT_EQ(taken.size(), one_flow.size());
    EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), 1U);

    const auto many = paths_taken(flows(400));
    ASSERT_EQ(many.size(), 400U);
    for (std::uint32_t plane = 0; plane < peer_planes; plane++) {
        for (std::uint32_t uplink = 0; uplink < peer_uplinks; uplink++)
            EXPECT_GT(many.count({plane, uplink}), 20U) << plane << "/" << uplink;
    }
}

TEST_F(host_tx, takes_only_planes_that_both_ends_have)
{
    set_host_planes(0x07);
    set_peer_planes(0x0E);
    set_port(2, MRC_PORT_PRESENT | MRC_PORT_NEIGHBOUR);
    const auto taken = paths_taken(flows(100));

    ASSERT_EQ(taken.size(), 100U);
    for (const auto &[plane, uplink] : taken)
        EXPECT_EQ(plane, 1U);
}

TEST_F(host_tx, prefers_good_over_skip_and_never_takes_a_bad_path)
{
    for (std::uint32_t plane = 0; plane < peer_planes; plane++) {
        set_path(plane, 0, MRC_PATH_KEPT);
        set_path(plane, 1, plane == 3 ? MRC_PATH_GOOD : MRC_PATH_ASSUMED_BAD);
    }
    auto taken = paths_taken(flows(50));
    EXPECT_EQ(taken.count({3, 1}), 50U);

    set_path(3, 1, MRC_PATH_DENIED);
    taken = paths_taken(flows(100));
    ASSERT_EQ(taken.size(), 100U);
    for (const auto &[plane, uplink] : taken)
        EXPECT_EQ(uplink, 0U);

    for (std::uint32_t plane = 0; plane < peer_planes; plane++)
        set_path(plane, 0, MRC_PATH_UNUSED);
    expect(ipv6_datagram(1024, 5001), MRC_TX_DROP_NO_PATH, TC_ACT_SHOT);
}

TEST_F(host_tx, drops_what_has_no_peer_or_no_plane)
{
    packet_bytes unknown = ipv6_datagram(1024, 5001);
    unknown[14 + 39] ^= 0xFF;
    expect(unknown, MRC_TX_DROP_NO_PEER, TC_ACT_SHOT);
    set_host_planes(0);
    expect(ipv6_datagram(1024, 5001), MRC_TX_DROP_NO_PATH, TC_ACT_SHOT);
    expect(packet_builder().ethernet({.type = ETH_P_ARP}).fill(46).build(), MRC_TX_PASS_NOT_IP, TC_ACT_OK);
}

TEST_F(host_tx_with_mrc_from_sockets, cost)
{
    std::cout << "host_tx: " << timed_ns_per_run(fd(), ipv6_datagram(1024, 5001)) << " ns per flow packet, "
              << timed_ns_per_run(fd(), ipv6_datagram(1024, 4791)) << " ns per sprayed packet, ";
    for (std::uint32_t row = 0; row < 7; row++)
        set_path(row % 4, row / 4, MRC_PATH_ASSUMED_BAD);
    std::cout << timed_ns_per_run(fd(), ipv6_datagram(1024, 5001)) << " ns with 7 of 8 paths bad\n";
}

TEST_F(host_tx, copies_what_leaves_for_a_capture_that_lasts)
{
    expect(ipv6_datagram(1000, 2000), MRC_TX_PUSHED, TC_ACT_REDIRECT);
    mrc_capture_ring wanted{};
    wanted.lease_ns = ~0ULL;
    wanted.planes = 0xFF;
    wanted.snap_bytes = 120;
    update(skeleton_->maps.capture_ring, std::uint32_t{0}, wanted);
    const prog_run_result sent = expect(ipv6_datagram(1000, 2000), MRC_TX_PUSHED, TC_ACT_REDIRECT);

    EXPECT_EQ(lookup<mrc_capture_ring>(skeleton_->maps.capture_ring, std::uint32_t{0}).producer, 1U);
    const auto copy = lookup<mrc_capture_slot>(skeleton_->maps.capture_slots, std::uint32_t{0});
    EXPECT_EQ(copy.number, 1U);
    EXPECT_EQ(copy.point, MRC_CAPTURE_OVERLAY);
    EXPECT_EQ(copy.verdict, MRC_TX_PUSHED);
    EXPECT_EQ(copy.length, sent.packet.size());
    EXPECT_EQ(copy.captured, 120);
    EXPECT_TRUE(same_bytes(std::span(sent.packet).first(120), std::span(copy.bytes).first(120)));
    wanted.qpn = 1;
    update(skeleton_->maps.capture_ring, std::uint32_t{0}, wanted);
    expect(ipv6_datagram(1000, 2000), MRC_TX_PUSHED, TC_ACT_REDIRECT);
    EXPECT_EQ(lookup<mrc_capture_ring>(skeleton_->maps.capture_ring, std::uint32_t{0}).producer, 0U) << "no MRC";
}

} // namespace
} // namespace mrc::test
