// SPDX-License-Identifier: Apache-2.0
//
// One loaded instance of host_tx, with one peer on four planes of two uplinks, and the outer header that it must push.
#ifndef MRC_TESTS_BPF_HOST_TX_FIXTURE_H
#define MRC_TESTS_BPF_HOST_TX_FIXTURE_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <array>
#include <set>
#include <utility>

#include "host_fixture.h"

#include "host_tx.skel.h"

namespace mrc::test
{

inline constexpr std::array mrc_ports{std::uint16_t{MRC_UDP_PORT_ROCE}, std::uint16_t{MRC_UDP_PORT_SPEC}};

constexpr std::uint16_t peer_host_usid = 0x8003;
constexpr std::uint32_t peer_group = 1;
constexpr std::uint32_t port_ifindex_base = 1000;

inline ip6_address carrier_of(std::uint32_t plane, std::uint32_t uplink)
{
    ip6_address carrier = ip6("fcbb:bb00:2000:1000:2001::");

    for (const std::size_t at : {4, 6, 8, 10})
        carrier[at] = static_cast<std::uint8_t>(carrier[at] | plane);
    carrier[7] = static_cast<std::uint8_t>(uplink);
    return carrier;
}

inline ip6_address destination_of(std::uint32_t plane, std::uint32_t uplink)
{
    ip6_address destination = carrier_of(plane, uplink);

    destination[10] = static_cast<std::uint8_t>(0x80 | plane);
    destination[11] = 0x03;
    return destination;
}

inline ip6_address source_of(std::uint32_t plane)
{
    return ip6("fd6d:7263:0:" + std::to_string(plane + 1) + "::0:2");
}

inline mac_address numbered(mac_address mac, std::uint32_t plane)
{
    mac[4] = static_cast<std::uint8_t>(plane);
    return mac;
}

inline packet_bytes outer_of(std::uint32_t plane, std::uint32_t uplink, std::uint32_t flow_label, std::uint8_t ecn,
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

inline std::uint32_t flow_label_of(std::span<const std::uint8_t> packet)
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
        skeleton_ = host_tx_bpf__open();
        ASSERT_NE(skeleton_, nullptr);
        skeleton_->rodata->config.mrc_from_sockets = mrc_from_sockets_ ? 1 : 0;
        ASSERT_EQ(host_tx_bpf__load(skeleton_), 0);
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
        update(skeleton_->maps.next_hops, plane, next_hop_at(numbered(gateway_mac, plane)));
        port.address = to_ip(source_of(plane));
        update(skeleton_->maps.ports, plane, port);
    }

    void set_path(std::uint32_t plane, std::uint32_t uplink, mrc_path_state state)
    {
        mrc_path_row path{};
        path.carrier = to_ip(carrier_of(plane, uplink));
        path.host_usid_at = 10;
        path.state = state;
        path.group = peer_group;
        path.plane = static_cast<std::uint8_t>(plane);
        path.port = static_cast<std::uint8_t>(plane);
        path.next_hop = static_cast<std::uint16_t>(plane);
        update(skeleton_->maps.paths, row_of(plane, uplink), path);
    }

    [[nodiscard]] mrc_path_row path(std::uint32_t plane, std::uint32_t uplink) const
    {
        return lookup<mrc_path_row>(skeleton_->maps.paths, row_of(plane, uplink));
    }

    prog_run_result expect(const packet_bytes &packet, mrc_verdict verdict, std::uint32_t action)
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
    void run_queued(const packet_bytes &packet) const
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
    std::multiset<std::pair<std::uint32_t, std::uint32_t>> paths_taken(const std::vector<packet_bytes> &packets)
    {
        std::multiset<std::pair<std::uint32_t, std::uint32_t>> taken;

        for (const packet_bytes &packet : packets) {
            const prog_run_result result = run_prog(fd(), packet);
            if (result.verdict != TC_ACT_REDIRECT)
                return {};
            taken.emplace(result.packet[14 + 24 + 4] & 0x0F, result.packet[14 + 24 + 7]);
        }
        return taken;
    }

    bool mrc_from_sockets_ = false;
    host_tx_bpf *skeleton_ = nullptr;
};

inline packet_bytes ipv6_datagram(std::uint16_t source, std::uint16_t destination, std::uint8_t ecn = MRC_ECN_NOT_ECT,
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

// A daemon that was told to let sockets send MRC.
class host_tx_with_mrc_from_sockets : public host_tx
{
protected:
    host_tx_with_mrc_from_sockets() { mrc_from_sockets_ = true; }
};

} // namespace mrc::test

#endif
