// SPDX-License-Identifier: Apache-2.0
//
// A leaf switch for tests of bpf/switch.bpf.c: port 0 faces a host, port 1 a spine, port 2 has a route but no device.
// Ports 0 and 1 are both the loopback device, which is also where BPF_PROG_TEST_RUN lets packets arrive.
#ifndef MRC_TESTS_BPF_SWITCH_FIXTURE_H
#define MRC_TESTS_BPF_SWITCH_FIXTURE_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include "mrc/abi/maps.h"
#include "mrc/abi/switch_maps.h"
#include "mrc/abi/wire.h"

#include <switch.skel.h>

#include "packet_builder.h"
#include "prog_run.h"

namespace mrc::test
{

constexpr std::uint32_t host_port = 0;
constexpr std::uint32_t spine_port = 1;
constexpr std::uint32_t missing_port = 2;
constexpr std::uint32_t loopback_ifindex = 1;

inline const mac_address host_mac{0x02, 0, 0, 0, 0, 0x0A};
inline const mac_address spine_mac{0x02, 0, 0, 0, 0, 0x0B};
inline const mac_address host_port_mac{0x02, 0, 0, 0, 1, 0x00};
inline const mac_address spine_port_mac{0x02, 0, 0, 0, 1, 0x01};

// What one test packet is; the rest is fixed.
struct data_packet {
    std::string destination = "fcbb:bb00:2000:1000:2001:8000::";
    std::uint8_t dscp = MRC_DSCP_TRIMMABLE;
    std::uint8_t ecn = MRC_ECN_ECT0;
    std::uint8_t hop_limit = 64;
    std::uint8_t next_header = IPPROTO_IPV6;
    std::uint8_t version = 6;
    std::size_t frame_bytes = 1200;
    ethernet_layer ethernet{};
};

inline packet_bytes build(const data_packet &packet)
{
    return packet_builder()
        .ethernet(packet.ethernet)
        .ipv6({.source = ip6("fd6d:7263:0:1::0:1"),
               .destination = ip6(packet.destination),
               .next_header = packet.next_header,
               .hop_limit = packet.hop_limit,
               .dscp = packet.dscp,
               .ecn = packet.ecn,
               .flow_label = 0xBC0DE,
               .version = packet.version})
        .ipv6({.source = ip6("fd6d:7263::0:1"),
               .destination = ip6("fd6d:7263::1:1"),
               .next_header = IPPROTO_UDP,
               .dscp = packet.dscp,
               .ecn = packet.ecn})
        .udp({.source = 0xC0DE})
        .bth({.dqp = 0x123, .psn = 7, .control = MRC_BTH_TS})
        .fill_to(packet.frame_bytes)
        .build();
}

// What leaves when `packet` is sent on by `port` to the destination `shifted`.
inline packet_bytes forwarded(data_packet packet, std::uint32_t port, const std::string &shifted)
{
    packet.destination = shifted;
    packet.hop_limit--;
    packet.ethernet.destination = port == host_port ? host_mac : spine_mac;
    packet.ethernet.source = port == host_port ? host_port_mac : spine_port_mac;
    return build(packet);
}

// Where verdicts are counted: those that changed, and by how much.
using verdict_deltas = std::map<std::uint32_t, std::int64_t>;

class switch_fixture : public testing::Test
{
protected:
    void SetUp() override
    {
        if (!may_load_bpf())
            GTEST_SKIP() << "needs root: loads BPF programs";
        load(false);
    }
    void TearDown() override { switch_bpf__destroy(program_); }

    void load(bool forward_in_kernel)
    {
        switch_bpf__destroy(program_);
        program_ = switch_bpf__open();
        ASSERT_NE(program_, nullptr);
        mrc_sw_config &config = program_->rodata->config;
        std::memcpy(&config.block, ip6("fcbb:bb00::").data(), sizeof(config.block));
        std::memset(&config.block_mask, 0xFF, MRC_USID_USUAL_BLOCK);
        config.block_bytes = MRC_USID_USUAL_BLOCK;
        config.usid = 0x2000;
        config.forward_in_kernel = forward_in_kernel ? 1 : 0;
        mrc_sw_add_device(program_->rodata->devices, loopback_ifindex, host_port);
        ASSERT_EQ(switch_bpf__load(program_), 0);
        add_port(host_port, host_port_mac, MRC_SW_PORT_PRESENT | MRC_SW_PORT_HOST_FACING);
        add_port(spine_port, spine_port_mac, MRC_SW_PORT_PRESENT);
        add_route(0x8000, host_port, host_mac);
        add_route(0x1000, spine_port, spine_mac);
        add_route(0x1001, missing_port, spine_mac);
    }

    template <class key_type, class value_type>
    static void put(const bpf_map *map, const key_type &key, const value_type &value)
    {
        ASSERT_EQ(bpf_map_update_elem(bpf_map__fd(map), &key, &value, BPF_ANY), 0) << bpf_map__name(map);
    }

    template <class value_type>
    static value_type row(const bpf_map *map, std::uint32_t key)
    {
        value_type value{};
        EXPECT_EQ(bpf_map_lookup_elem(bpf_map__fd(map), &key, &value), 0) << bpf_map__name(map);
        return value;
    }

    void add_port(std::uint32_t number, const mac_address &mac, std::uint32_t flags)
    {
        mrc_sw_port_row port{};
        port.ifindex = loopback_ifindex;
        port.flags = flags;
        std::memcpy(port.mac, mac.data(), mac.size());
        put(program_->maps.sw_ports, number, port);
        put(program_->maps.sw_tx, number, loopback_ifindex);
        const int pair = bpf_map_create(BPF_MAP_TYPE_DEVMAP, "sw_pair", 4, 4, 2, nullptr);
        ASSERT_GE(pair, 0);
        for (const std::uint32_t slot : {0U, 1U})
            ASSERT_EQ(bpf_map_update_elem(pair, &slot, &loopback_ifindex, BPF_ANY), 0);
        put(program_->maps.sw_twice, number, pair);
        close(pair);
    }

    void add_route(std::uint32_t usid, std::uint32_t port, const mac_address &mac)
    {
        mrc_sw_route_row route{};
        route.port = port;
        std::memcpy(route.mac, mac.data(), mac.size());
        put(program_->maps.sw_routes, usid, route);
    }

    void impair(std::uint32_t port, const mrc_sw_impair_row &impairments)
    {
        put(program_->maps.sw_impair, port, impairments);
    }

    [[nodiscard]] int fd() const { return bpf_program__fd(program_->progs.switch_port); }

    [[nodiscard]] verdict_deltas verdicts() const
    {
        verdict_deltas all;
        for (std::uint32_t verdict = 0; verdict < MRC_VERDICT_COUNT; verdict++)
            all[verdict] = per_cpu_sum(bpf_map__fd(program_->maps.verdicts), verdict);
        return all;
    }

    // One packet in; its verdict, every byte that comes out and every counter that moves.
    void expect(const packet_bytes &in, std::uint32_t action, const packet_bytes &out, const verdict_deltas &counted)
    {
        const verdict_deltas before = verdicts();
        const prog_run_result result = run_prog(fd(), in);
        verdict_deltas changed;

        for (const auto &[verdict, count] : verdicts()) {
            if (count != before.at(verdict))
                changed[verdict] = count - before.at(verdict);
        }
        ASSERT_EQ(result.error, 0) << std::strerror(result.error);
        EXPECT_EQ(result.verdict, action);
        EXPECT_TRUE(same_bytes(out, result.packet));
        EXPECT_EQ(changed, counted);
    }

    // A drop whose reason alone matters: dropped frames may have been changed before.
    void expect_drop(const packet_bytes &in, std::uint32_t reason)
    {
        const std::int64_t before = per_cpu_sum(bpf_map__fd(program_->maps.verdicts), reason);
        const prog_run_result result = run_prog(fd(), in);

        ASSERT_EQ(result.error, 0) << std::strerror(result.error);
        EXPECT_EQ(result.verdict, XDP_DROP);
        EXPECT_EQ(per_cpu_sum(bpf_map__fd(program_->maps.verdicts), reason), before + 1);
    }

    switch_bpf *program_ = nullptr;
};

} // namespace mrc::test

#endif
