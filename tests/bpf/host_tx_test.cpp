// SPDX-License-Identifier: Apache-2.0
//
// host_tx: every output byte and the choice of paths by single runs; UDP, UDP GSO and large datagrams of real sockets
// across a veth pair.
#include <linux/bpf.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>

#include <iostream>
#include <set>
#include <utility>

#include "host_fixture.h"
#include "private_network.h"

#include "host_tx.skel.h"

namespace mrc::test
{
namespace
{

constexpr std::uint16_t peer_host_usid = 0x8003;
constexpr std::uint32_t peer_group = 1;
constexpr std::uint32_t port_ifindex_base = 1000;

ip6_address carrier_of(std::uint32_t plane, std::uint32_t uplink)
{
    ip6_address carrier = ip6("fcbb:bb00:2000:1000:2001::");

    for (const std::size_t at : {4, 6, 8})
        carrier[at] = static_cast<std::uint8_t>(carrier[at] | plane);
    carrier[7] = static_cast<std::uint8_t>(uplink);
    return carrier;
}

ip6_address destination_of(std::uint32_t plane, std::uint32_t uplink)
{
    ip6_address destination = carrier_of(plane, uplink);

    destination[10] = static_cast<std::uint8_t>(0x80 | plane);
    destination[11] = 0x03;
    return destination;
}

ip6_address source_of(std::uint32_t plane)
{
    return ip6("fd6d:7263:0:" + std::to_string(plane + 1) + "::0:2");
}

mac_address numbered(mac_address mac, std::uint32_t plane)
{
    mac[4] = static_cast<std::uint8_t>(plane);
    return mac;
}

frame outer_of(std::uint32_t plane, std::uint32_t uplink, std::uint32_t flow_label, std::uint8_t ecn,
               std::uint8_t next_header, std::span<const std::uint8_t> inner)
{
    return packet_builder()
        .ethernet({.destination = numbered(gateway_mac, plane), .source = numbered(port_mac, plane)})
        .ipv6({.source = source_of(plane),
               .destination = destination_of(plane, uplink),
               .next_header = next_header,
               .ecn = ecn,
               .flow_label = flow_label})
        .bytes(inner)
        .build();
}

std::uint32_t flow_label_of(std::span<const std::uint8_t> packet)
{
    return static_cast<std::uint32_t>((packet[15] & 0x0F) << 16 | packet[16] << 8 | packet[17]);
}

class host_tx : public testing::Test
{
protected:
    void SetUp() override
    {
        if (!may_load_bpf())
            GTEST_SKIP() << "needs root to load BPF programs";
        skeleton_ = host_tx_bpf__open_and_load();
        ASSERT_NE(skeleton_, nullptr);
        set_host_planes(0x0F);
        set_peer_planes(0x0F);
        for (std::uint32_t plane = 0; plane < peer_planes; plane++) {
            set_port(plane, MRC_PORT_USABLE);
            for (std::uint32_t uplink = 0; uplink < peer_uplinks; uplink++)
                set_path(plane, uplink, MRC_PATH_GOOD);
        }
    }

    void TearDown() override { host_tx_bpf__destroy(skeleton_); }

    [[nodiscard]] int fd() const { return bpf_program__fd(skeleton_->progs.host_tx); }

    void set_host_planes(std::uint32_t mask)
    {
        mrc_host_row host{};
        host.plane_mask = mask;
        host.planes = peer_planes;
        update(skeleton_->maps.host, std::uint32_t{0}, host);
    }

    void set_peer_planes(std::uint8_t mask)
    {
        mrc_peer_row peer = remote_peer();
        peer.plane_mask = mask;
        peer.host_usid = peer_host_usid;
        update(skeleton_->maps.peers, to_ip(peer_address), peer);
        update(skeleton_->maps.peers, to_ip(peer_address4), peer);
    }

    void set_port(std::uint32_t plane, std::uint32_t flags, std::uint32_t ifindex = 0)
    {
        mrc_port_row port{};
        port.ifindex = ifindex != 0 ? ifindex : port_ifindex_base + plane;
        port.flags = flags;
        port.mtu = 3400;
        std::ranges::copy(numbered(port_mac, plane), std::begin(port.mac));
        std::ranges::copy(numbered(gateway_mac, plane), std::begin(port.gateway_mac));
        port.outer_source = to_ip(source_of(plane));
        update(skeleton_->maps.ports, plane, port);
    }

    void set_path(std::uint32_t plane, std::uint32_t uplink, mrc_path_state state)
    {
        mrc_path_row path{};
        path.carrier = to_ip(carrier_of(plane, uplink));
        path.host_usid_at = 3;
        path.state = static_cast<std::uint16_t>(state);
        path.group = peer_group;
        path.plane = static_cast<std::uint8_t>(plane);
        path.port = static_cast<std::uint8_t>(plane);
        update(skeleton_->maps.paths, row_of(plane, uplink), path);
    }

    [[nodiscard]] mrc_path_row path(std::uint32_t plane, std::uint32_t uplink) const
    {
        return lookup<mrc_path_row>(skeleton_->maps.paths, row_of(plane, uplink));
    }

    prog_run_result expect(const frame &packet, mrc_verdict verdict, std::uint32_t action)
    {
        const verdict_counts counts(skeleton_->maps.verdicts);
        const std::int64_t before = counts.of(verdict);
        const std::int64_t all_before = counts.total();
        prog_run_result result = run_prog(fd(), packet);

        EXPECT_EQ(result.error, 0);
        EXPECT_EQ(result.verdict, action);
        EXPECT_EQ(counts.of(verdict) - before, 1) << "verdict " << verdict;
        EXPECT_EQ(counts.total() - all_before, 1);
        return result;
    }

    // As it comes through a queueing layer, which notes the length on the wire.
    void run_queued(const frame &packet) const
    {
        __sk_buff context{};
        context.wire_len = static_cast<__u32>(packet.size());
        LIBBPF_OPTS(bpf_test_run_opts, opts);
        opts.data_in = packet.data();
        opts.data_size_in = static_cast<__u32>(packet.size());
        opts.ctx_in = &context;
        opts.ctx_size_in = sizeof(context);

        ASSERT_EQ(bpf_prog_test_run_opts(fd(), &opts), 0);
        EXPECT_EQ(opts.retval, static_cast<__u32>(TC_ACT_REDIRECT));
    }

    // (plane, uplink) of every frame that was pushed; empty when one was not.
    std::multiset<std::pair<std::uint32_t, std::uint32_t>> paths_taken(const std::vector<frame> &packets)
    {
        std::multiset<std::pair<std::uint32_t, std::uint32_t>> taken;

        for (const frame &packet : packets) {
            const prog_run_result result = run_prog(fd(), packet);
            if (result.verdict != TC_ACT_REDIRECT)
                return {};
            taken.emplace(result.packet[14 + 24 + 4] & 0x0F, result.packet[14 + 24 + 7]);
        }
        return taken;
    }

    host_tx_bpf *skeleton_ = nullptr;
};

frame ipv6_datagram(std::uint16_t source, std::uint16_t destination, std::uint8_t ecn = MRC_ECN_NOT_ECT,
                    std::uint8_t dscp = 46, std::size_t payload = 100)
{
    return packet_builder()
        .ethernet()
        .ipv6(
            {.source = host_address, .destination = peer_address, .next_header = IPPROTO_UDP, .dscp = dscp, .ecn = ecn})
        .udp({.source = source, .destination = destination})
        .fill(payload)
        .build();
}

std::vector<frame> flows(std::uint16_t count)
{
    std::vector<frame> packets;

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
            const frame packet = ipv6_datagram(1024, 5001, ecn);
            const prog_run_result result = expect(packet, MRC_TX_PUSHED, TC_ACT_REDIRECT);
            ASSERT_EQ(result.packet.size(), packet.size() + 40);
            const std::uint32_t uplink = result.packet[14 + 24 + 7];
            const frame expected =
                outer_of(plane, uplink, flow_label_of(result.packet), ecn, IPPROTO_IPV6, std::span(packet).subspan(14));
            EXPECT_TRUE(same_bytes(expected, result.packet));
        }
    }
}

TEST_F(host_tx, pushes_ipv4_inside_ipv6)
{
    set_host_planes(1U << 1);
    const frame packet = packet_builder()
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
    const frame packet = ipv6_datagram(1024, 5001);
    run_queued(packet);
    run_queued(packet);

    const auto port = lookup<mrc_port_row>(skeleton_->maps.ports, std::uint32_t{2});
    EXPECT_EQ(path(2, 1).tx_packets, 2U);
    EXPECT_EQ(path(2, 1).tx_bytes, (packet.size() + 40) * 2);
    EXPECT_EQ(port.tx_packets, 2U);
    EXPECT_EQ(port.tx_bytes, (packet.size() + 40) * 2);
    EXPECT_NE(port.last_tx_ns, 0U);
}

TEST_F(host_tx, tells_the_agent_whose_paths_sockets_use)
{
    EXPECT_EQ(lookup<mrc_overlay_row>(skeleton_->maps.overlay, peer_group).last_tx_ns, 0U);
    expect(ipv6_datagram(1024, 5001), MRC_TX_PUSHED, TC_ACT_REDIRECT);

    const auto use = lookup<mrc_overlay_row>(skeleton_->maps.overlay, peer_group);
    EXPECT_NE(use.last_tx_ns, 0U);
    EXPECT_EQ(use.host_usid, peer_host_usid);
}

TEST_F(host_tx, a_flow_keeps_its_path_and_flows_use_all)
{
    const std::vector<frame> one_flow(50, ipv6_datagram(1024, 5001));
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

TEST_F(host_tx, mrc_by_port_is_sprayed_packet_by_packet)
{
    for (const std::uint16_t port : {MRC_UDP_PORT_ROCE, MRC_UDP_PORT_SPEC}) {
        const auto taken = paths_taken(std::vector<frame>(400, ipv6_datagram(1024, port)));
        ASSERT_EQ(taken.size(), 400U);
        EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), 8U);
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
    frame stranger = ipv6_datagram(1024, 5001);
    stranger[14 + 39] ^= 0xFF;
    expect(stranger, MRC_TX_DROP_NO_PEER, TC_ACT_SHOT);
    set_host_planes(0);
    expect(ipv6_datagram(1024, 5001), MRC_TX_DROP_NO_PATH, TC_ACT_SHOT);
    expect(packet_builder().ethernet({.type = ETH_P_ARP}).fill(46).build(), MRC_TX_PASS_NOT_IP, TC_ACT_OK);
}

// The kernel refuses to run TC programs on less than an IP header; from there on every length has one verdict.
TEST_F(host_tx, truncated_at_every_length)
{
    const frame whole = ipv6_datagram(1024, MRC_UDP_PORT_ROCE);

    for (std::size_t length = 54; length < whole.size(); length++) {
        SCOPED_TRACE(length);
        expect(frame(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)), MRC_TX_PUSHED,
               TC_ACT_REDIRECT);
    }
}

TEST_F(host_tx, cost)
{
    std::cout << "host_tx: " << timed_ns_per_run(fd(), ipv6_datagram(1024, 5001)) << " ns per flow packet, "
              << timed_ns_per_run(fd(), ipv6_datagram(1024, 4791)) << " ns per sprayed packet, ";
    for (std::uint32_t row = 0; row < 7; row++)
        set_path(row % 4, row / 4, MRC_PATH_ASSUMED_BAD);
    std::cout << timed_ns_per_run(fd(), ipv6_datagram(1024, 5001)) << " ns with 7 of 8 paths bad\n";
}

// Real sockets: an overlay with host_tx on its egress, and port p0 whose far end is captured.
class host_tx_sockets : public host_tx
{
protected:
    void SetUp() override
    {
        host_tx::SetUp();
        if (IsSkipped())
            return;
        network_ = std::make_unique<private_network>();
        private_network::veth("p0", "leaf0", 3400);
        private_network::veth("overlay0", "overlay1", 3360);
        private_network::ip("link set overlay0 arp off");
        private_network::ip("addr add fd6d:7263::0:2/128 dev overlay0 nodad");
        private_network::ip("route add fd6d:7263::/32 dev overlay0");
        network_->attach_action(XDP_PASS, "leaf0");
        turn_off_checksum_offload("p0");
        LIBBPF_OPTS(bpf_tc_hook, hook);
        hook.ifindex = static_cast<int>(private_network::ifindex("overlay0"));
        hook.attach_point = BPF_TC_EGRESS;
        ASSERT_EQ(bpf_tc_hook_create(&hook), 0);
        LIBBPF_OPTS(bpf_tc_opts, filter);
        filter.prog_fd = fd();
        ASSERT_EQ(bpf_tc_attach(&hook, &filter), 0);
        set_host_planes(1);
        set_port(0, MRC_PORT_USABLE, private_network::ifindex("p0"));
        set_path(0, 1, MRC_PATH_DENIED);
        socket_ = socket(AF_INET6, SOCK_DGRAM, 0);
        const sockaddr_in6 address = endpoint(host_address, 6000);
        ASSERT_EQ(bind(socket_, reinterpret_cast<const sockaddr *>(&address), sizeof(address)), 0);
    }

    void TearDown() override
    {
        if (socket_ >= 0)
            close(socket_);
        network_.reset();
        host_tx::TearDown();
    }

    static sockaddr_in6 endpoint(const ip6_address &address, std::uint16_t port)
    {
        sockaddr_in6 out{};

        out.sin6_family = AF_INET6;
        out.sin6_port = htons(port);
        std::ranges::copy(address, std::begin(out.sin6_addr.s6_addr));
        return out;
    }

    // A frame redirected by XDP keeps no checksum state, so ports must send finished checksums.
    static void turn_off_checksum_offload(const std::string &device)
    {
        const int fd = socket(AF_INET6, SOCK_DGRAM, 0);
        ethtool_value off{.cmd = ETHTOOL_STXCSUM, .data = 0};
        ifreq request{};
        device.copy(request.ifr_name, sizeof(request.ifr_name) - 1);
        request.ifr_data = reinterpret_cast<char *>(&off);
        EXPECT_EQ(ioctl(fd, SIOCETHTOOL, &request), 0);
        close(fd);
    }

    void send(std::size_t bytes) const
    {
        const sockaddr_in6 to = endpoint(peer_address, 5001);
        const frame payload = packet_builder().fill(bytes).build();

        ASSERT_EQ(
            sendto(socket_, payload.data(), payload.size(), 0, reinterpret_cast<const sockaddr *>(&to), sizeof(to)),
            static_cast<ssize_t>(bytes));
    }

    // One datagram of `payload` on the wire: outer header, addresses, a right UDP checksum, the payload itself.
    static void expect_datagram(const frame &arrived, std::span<const std::uint8_t> payload)
    {
        ASSERT_EQ(arrived.size(), 14 + 40 + 40 + 8 + payload.size());
        const std::span inner = std::span(arrived).subspan(54);
        EXPECT_TRUE(same_bytes(outer_of(0, 0, flow_label_of(arrived), MRC_ECN_NOT_ECT, IPPROTO_IPV6, inner), arrived));
        EXPECT_EQ(inner[6], IPPROTO_UDP);
        EXPECT_TRUE(same_bytes(peer_address, inner.subspan(24, 16)));
        EXPECT_TRUE(same_bytes(payload, inner.subspan(48)));
        packet_builder pseudo;
        pseudo.bytes(inner.subspan(8, 32)).be32(static_cast<std::uint32_t>(inner.size() - 40)).be32(IPPROTO_UDP);
        frame summed = pseudo.bytes(inner.subspan(40)).build();
        if (summed.size() % 2)
            summed.push_back(0);
        EXPECT_EQ(internet_checksum(summed), 0) << "UDP checksum";
    }

    std::unique_ptr<private_network> network_;
    int socket_ = -1;
};

TEST_F(host_tx_sockets, datagrams_leave_by_the_port)
{
    const capture arrivals("leaf0");

    for (const std::size_t bytes : {1U, 100U, 3360U - 48U}) {
        SCOPED_TRACE(bytes);
        send(bytes);
        expect_datagram(arrivals.next(), packet_builder().fill(bytes).build());
    }
    EXPECT_TRUE(arrivals.empty());
}

TEST_F(host_tx_sockets, udp_segmentation_offload_keeps_its_datagrams)
{
    constexpr std::size_t segment = 1000;
    const int segment_option = segment;
    ASSERT_EQ(setsockopt(socket_, SOL_UDP, UDP_SEGMENT, &segment_option, sizeof(segment_option)), 0);
    const capture arrivals("leaf0");

    send(segment * 3 + 10);
    const frame payload = packet_builder().fill(segment * 3 + 10).build();
    for (std::size_t at = 0; at < payload.size(); at += segment) {
        SCOPED_TRACE(at);
        expect_datagram(arrivals.next(), std::span(payload).subspan(at, std::min(segment, payload.size() - at)));
    }
    EXPECT_TRUE(arrivals.empty());
    EXPECT_EQ(path(0, 0).tx_packets, 4U);
    EXPECT_EQ(path(0, 0).tx_bytes, payload.size() + std::size_t{4} * (14 + 40 + 40 + 8));
}

} // namespace
} // namespace mrc::test
