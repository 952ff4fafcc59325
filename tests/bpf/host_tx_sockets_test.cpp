// SPDX-License-Identifier: Apache-2.0
//
// host_tx behind real sockets, across a veth pair: UDP, UDP GSO, large datagrams, and what is for MRC's ports.
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>

#include "host_tx_fixture.h"
#include "private_network.h"

namespace mrc::test
{
namespace
{

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
        const packet_bytes payload = packet_builder().fill(bytes).build();

        ASSERT_EQ(
            sendto(socket_, payload.data(), payload.size(), 0, reinterpret_cast<const sockaddr *>(&to), sizeof(to)),
            static_cast<ssize_t>(bytes));
    }

    // One datagram of `payload` on the wire: outer header, addresses, a right UDP checksum, the payload itself.
    static void expect_datagram(const packet_bytes &arrived, std::span<const std::uint8_t> payload)
    {
        ASSERT_EQ(arrived.size(), 14 + 40 + 40 + 8 + payload.size());
        const std::span inner = std::span(arrived).subspan(54);
        EXPECT_TRUE(same_bytes(outer_of(0, 0, flow_label_of(arrived), MRC_ECN_NOT_ECT, IPPROTO_IPV6, inner), arrived));
        EXPECT_EQ(inner[6], IPPROTO_UDP);
        EXPECT_TRUE(same_bytes(peer_address, inner.subspan(24, 16)));
        EXPECT_TRUE(same_bytes(payload, inner.subspan(48)));
        packet_builder pseudo;
        pseudo.bytes(inner.subspan(8, 32)).be32(static_cast<std::uint32_t>(inner.size() - 40)).be32(IPPROTO_UDP);
        packet_bytes summed = pseudo.bytes(inner.subspan(40)).build();
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

// The kernel cuts the last into fragments, and gives up when the first is dropped.
TEST_F(host_tx_sockets, no_socket_reaches_the_ports_of_mrc)
{
    const verdict_counts counts(skeleton_->maps.verdicts);
    const capture arrivals("leaf0");
    const auto try_to_send = [&](std::size_t bytes, std::uint16_t port) {
        const sockaddr_in6 to = endpoint(peer_address, port);
        const packet_bytes payload(bytes);
        (void)sendto(socket_, payload.data(), payload.size(), 0, reinterpret_cast<const sockaddr *>(&to), sizeof(to));
    };

    for (const std::uint16_t port : mrc_ports)
        try_to_send(100, port);
    EXPECT_EQ(counts.of(MRC_TX_DROP_MRC_PORT), 2);
    try_to_send(4000, MRC_UDP_PORT_ROCE);
    EXPECT_EQ(counts.of(MRC_TX_DROP_MRC_PORT), 3);
    EXPECT_EQ(counts.of(MRC_TX_PUSHED), 0);
    send(1);
    expect_datagram(arrivals.next(), packet_builder().fill(1).build());
    EXPECT_TRUE(arrivals.empty());
}

TEST_F(host_tx_sockets, udp_segmentation_offload_keeps_its_datagrams)
{
    constexpr std::size_t segment = 1000;
    const int segment_option = segment;
    ASSERT_EQ(setsockopt(socket_, SOL_UDP, UDP_SEGMENT, &segment_option, sizeof(segment_option)), 0);
    const capture arrivals("leaf0");

    send(segment * 3 + 10);
    const packet_bytes payload = packet_builder().fill(segment * 3 + 10).build();
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
