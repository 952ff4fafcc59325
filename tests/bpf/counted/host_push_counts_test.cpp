// SPDX-License-Identifier: Apache-2.0
//
// What host_push does for a slot.
#include <linux/ip.h>

#include "../host_fixture.h"
#include "counted.h"

#include "host_push.skel.h"

namespace mrc::test
{
namespace
{

TEST(host_push_counts, slot)
{
    constexpr std::uint32_t path_row = 101;
    constexpr std::uint32_t loopback = 1;
    const packet_costs expected{
        .array_look_ups = 6, .per_cpu_look_ups = 1, .locked_adds = 4, .clock_reads = 1, .other_calls = 3};

    if (!may_load_bpf())
        GTEST_SKIP() << "needs root to load BPF programs";
    const std::unique_ptr<host_push_bpf, decltype(&host_push_bpf__destroy)> program{host_push_bpf__open_and_load(),
                                                                                    host_push_bpf__destroy};
    ASSERT_NE(program, nullptr);
    mrc_port_row port{};
    port.flags = MRC_PORT_USABLE;
    port.mtu = 3400;
    update(program->maps.ports, host_port, port);
    mrc_path_row path{};
    path.state = MRC_PATH_GOOD;
    path.port = host_port;
    path.next_hop = host_port;
    path.host_usid_at = 10;
    update(program->maps.paths, path_row, path);
    update(program->maps.next_hops, host_port, next_hop_at(gateway_mac));
    update(program->maps.tx_ports, host_port, loopback);
    mrc_push_slot slot{};
    slot.length = 3164;
    slot.path = path_row;
    slot.next_header = IPPROTO_IPV6;
    update(program->maps.push_slots, std::uint32_t{0}, slot);
    mrc_push_ring ring{};
    ring.producer = 1;
    update(program->maps.push_ring, std::uint32_t{0}, ring);

    EXPECT_EQ(costs_of(program->progs.host_push, program->maps.bss, packet_bytes(MRC_PUSH_BLANK_BYTES), XDP_REDIRECT),
              expected);
}

} // namespace
} // namespace mrc::test
