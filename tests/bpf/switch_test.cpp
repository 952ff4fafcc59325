// SPDX-License-Identifier: Apache-2.0
//
// bpf/switch.bpf.c packet by packet: forwarding, hostile packets, impairments, and what a packet costs. The virtual
// queue is tested in switch_queue_test.cpp, delivery over real devices in switch_forward_test.cpp.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <array>
#include <bit>
#include <cstdint>
#include <iostream>

#include "packet_builder.h"
#include "prog_run.h"
#include "switch_fixture.h"

namespace mrc::test
{
namespace
{

const std::string to_spine = "fcbb:bb00:2000:1000:2001:8000::";
const std::string to_spine_shifted = "fcbb:bb00:1000:2001:8000::";
const std::string to_host = "fcbb:bb00:2000:8000::";
const std::string to_host_shifted = "fcbb:bb00:8000::";

class switch_test : public switch_fixture
{
};

TEST_F(switch_test, shifts_the_own_usid_and_forwards_to_the_next)
{
    const data_packet packet{.destination = to_spine};

    expect(build(packet), XDP_REDIRECT, forwarded(packet, spine_port, to_spine_shifted), {{MRC_SW_FORWARDED, 1}});
}

TEST_F(switch_test, forwards_to_a_host_of_the_same_leaf)
{
    const data_packet packet{.destination = to_host};

    expect(build(packet), XDP_REDIRECT, forwarded(packet, host_port, to_host_shifted), {{MRC_SW_FORWARDED, 1}});
}

TEST_F(switch_test, a_full_carrier_of_six_usids_is_shifted)
{
    const data_packet packet{.destination = "fcbb:bb00:2000:1000:3:4:5:6"};

    expect(build(packet), XDP_REDIRECT, forwarded(packet, spine_port, "fcbb:bb00:1000:3:4:5:6:0"),
           {{MRC_SW_FORWARDED, 1}});
}

TEST_F(switch_test, an_active_usid_of_another_node_is_routed_unshifted)
{
    const data_packet packet{.destination = to_spine_shifted};

    expect(build(packet), XDP_REDIRECT, forwarded(packet, spine_port, to_spine_shifted), {{MRC_SW_FORWARDED, 1}});
}

TEST_F(switch_test, a_carrier_that_ends_here_is_dropped)
{
    expect_drop(build({.destination = "fcbb:bb00:2000::"}), MRC_SW_DROP_CARRIER_END);
}

TEST_F(switch_test, a_usid_without_a_route_is_dropped)
{
    expect_drop(build({.destination = "fcbb:bb00:2000:1fff:8000::"}), MRC_SW_DROP_NO_ROUTE);
    expect_drop(build({.destination = "fcbb:bb00:7777::"}), MRC_SW_DROP_NO_ROUTE);
    // Own uSID twice: a uN does not forward to itself.
    expect_drop(build({.destination = "fcbb:bb00:2000:2000:8000::"}), MRC_SW_DROP_NO_ROUTE);
}

TEST_F(switch_test, a_route_whose_port_has_no_device_is_counted)
{
    expect_drop(build({.destination = "fcbb:bb00:2000:1001:8000::"}), MRC_SW_DROP_NO_PORT);
}

TEST_F(switch_test, hop_limit_ends_at_one)
{
    const data_packet two{.destination = to_host, .hop_limit = 2};

    expect_drop(build({.hop_limit = 0}), MRC_SW_DROP_HOP_LIMIT);
    expect_drop(build({.hop_limit = 1}), MRC_SW_DROP_HOP_LIMIT);
    expect(build(two), XDP_REDIRECT, forwarded(two, host_port, to_host_shifted), {{MRC_SW_FORWARDED, 1}});
}

TEST_F(switch_test, what_is_not_for_the_usid_block_goes_to_the_kernel_untouched)
{
    const packet_bytes arp = packet_builder().ethernet({.type = 0x0806}).fill(60).build();
    const packet_bytes vlan = packet_builder().ethernet({.type = 0x8100}).be16(5).be16(0x86DD).fill(100).build();

    for (const packet_bytes &packet : {build({.destination = "ff02::1:ff00:1", .next_header = IPPROTO_ICMPV6}),
                                       build({.destination = "fcbb:bb01:2000:1000::"}), arp, vlan})
        expect(packet, XDP_PASS, packet, {{MRC_SW_PASS_NOT_USID, 1}});
}

TEST_F(switch_test, forwards_whatever_the_next_header)
{
    constexpr std::array<std::uint8_t, 5> headers{IPPROTO_UDP, IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_NONE, 255};

    for (const std::uint8_t next_header : headers) {
        const data_packet packet{.destination = to_spine, .next_header = next_header};

        expect(build(packet), XDP_REDIRECT, forwarded(packet, spine_port, to_spine_shifted), {{MRC_SW_FORWARDED, 1}});
    }
}

TEST_F(switch_test, a_version_other_than_six_is_dropped)
{
    for (const std::uint8_t version : std::array<std::uint8_t, 5>{0, 4, 5, 7, 15})
        expect_drop(build({.version = version}), MRC_SW_DROP_MALFORMED);
}

// A frame cut at any length is either not recognisable (kernel) or shorter than it says (dropped): nothing is
// forwarded.
TEST_F(switch_test, a_frame_cut_short_anywhere_is_never_forwarded)
{
    const packet_bytes whole = build({.frame_bytes = 300});

    // 14 bytes is the shortest frame that the kernel's test run takes.
    for (std::size_t bytes = 14; bytes < whole.size(); bytes++) {
        const packet_bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));

        SCOPED_TRACE(bytes);
        if (bytes < MRC_OUTER_BYTES)
            expect(cut, XDP_PASS, cut, {{MRC_SW_PASS_NOT_USID, 1}});
        else
            expect(cut, XDP_DROP, cut, {{MRC_SW_DROP_MALFORMED, 1}});
    }
}

TEST_F(switch_test, padding_behind_the_packet_is_forwarded_with_it)
{
    const data_packet packet{.destination = to_host, .frame_bytes = 120};
    const packet_bytes pad(8, 0xEE);
    packet_bytes in = build(packet);
    packet_bytes out = forwarded(packet, host_port, to_host_shifted);

    in.insert(in.end(), pad.begin(), pad.end());
    out.insert(out.end(), pad.begin(), pad.end());
    expect(in, XDP_REDIRECT, out, {{MRC_SW_FORWARDED, 1}});
}

TEST_F(switch_test, frames_of_several_buffers_are_forwarded_whole)
{
    for (const std::size_t bytes : {3414U, 9000U, 16000U}) {
        const data_packet packet{.destination = to_spine, .frame_bytes = bytes};

        expect(build(packet), XDP_REDIRECT, forwarded(packet, spine_port, to_spine_shifted), {{MRC_SW_FORWARDED, 1}});
    }
}

TEST_F(switch_test, counts_packets_and_bytes_of_both_ports)
{
    const packet_bytes in = build({.destination = to_spine, .frame_bytes = 1000});

    run_prog(fd(), in);
    run_prog(fd(), build({.destination = to_spine, .hop_limit = 1, .frame_bytes = 500}));
    const auto ingress = row<mrc_sw_port_row>(program_->maps.sw_ports, host_port);
    const auto egress = row<mrc_sw_port_row>(program_->maps.sw_ports, spine_port);
    EXPECT_EQ(ingress.rx_packets, 2U);
    EXPECT_EQ(ingress.rx_bytes, 1500U);
    EXPECT_EQ(ingress.tx_packets, 0U);
    EXPECT_EQ(egress.tx_packets, 1U);
    EXPECT_EQ(egress.tx_bytes, 1000U);
    EXPECT_EQ(egress.rx_packets, 0U);
}

TEST_F(switch_test, impairments_act_on_their_egress_port_only)
{
    const data_packet spine{.destination = to_spine};
    const data_packet host{.destination = to_host};
    mrc_sw_impair_row cut{};

    cut.flags = MRC_SW_BLACKHOLE;
    impair(spine_port, cut);
    expect_drop(build(spine), MRC_SW_IMPAIR_BLACKHOLE);
    expect(build(host), XDP_REDIRECT, forwarded(host, host_port, to_host_shifted), {{MRC_SW_FORWARDED, 1}});
    impair(spine_port, {});
    expect(build(spine), XDP_REDIRECT, forwarded(spine, spine_port, to_spine_shifted), {{MRC_SW_FORWARDED, 1}});
}

TEST_F(switch_test, certain_loss_loses_everything)
{
    mrc_sw_impair_row always{};

    always.loss = MRC_SW_ALWAYS;
    impair(spine_port, always);
    for (int i = 0; i < 100; i++)
        expect_drop(build({.destination = to_spine}), MRC_SW_IMPAIR_LOSS);
}

TEST_F(switch_test, half_loss_loses_about_half)
{
    constexpr int packets = 4000;
    constexpr int expected = packets / 2;
    constexpr int six_sigma = 190; // of 4,000 fair coins: sigma is 31.6
    const packet_bytes in = build({.destination = to_spine});
    mrc_sw_impair_row half{};
    int lost = 0;

    half.loss = 1U << 31;
    impair(spine_port, half);
    for (int i = 0; i < packets; i++)
        lost += run_prog(fd(), in).verdict == XDP_DROP ? 1 : 0;
    EXPECT_NEAR(lost, expected, six_sigma);
}

TEST_F(switch_test, corruption_flips_one_bit_behind_the_outer_header)
{
    const data_packet packet{.destination = to_spine, .frame_bytes = 200};
    const packet_bytes clean = forwarded(packet, spine_port, to_spine_shifted);
    mrc_sw_impair_row always{};

    always.corrupt = MRC_SW_ALWAYS;
    impair(spine_port, always);
    for (int i = 0; i < 500; i++) {
        const prog_run_result result = run_prog(fd(), build(packet));
        int flipped = 0;

        ASSERT_EQ(result.verdict, XDP_REDIRECT);
        ASSERT_EQ(result.packet.size(), clean.size());
        for (std::size_t at = 0; at < clean.size(); at++) {
            const int bits = std::popcount(static_cast<std::uint8_t>(clean[at] ^ result.packet[at]));
            ASSERT_TRUE(at >= MRC_OUTER_BYTES || bits == 0) << "at " << at;
            flipped += bits;
        }
        ASSERT_EQ(flipped, 1);
    }
    EXPECT_EQ(per_cpu_sum(bpf_map__fd(program_->maps.verdicts), MRC_SW_IMPAIR_CORRUPT), 500);
}

TEST_F(switch_test, corruption_of_a_packet_without_payload_does_nothing)
{
    const packet_bytes in = packet_builder().ethernet().ipv6({.destination = ip6(to_spine)}).build();
    mrc_sw_impair_row always{};

    always.corrupt = MRC_SW_ALWAYS;
    impair(spine_port, always);
    const prog_run_result result = run_prog(fd(), in);
    EXPECT_EQ(result.verdict, XDP_REDIRECT);
    EXPECT_EQ(per_cpu_sum(bpf_map__fd(program_->maps.verdicts), MRC_SW_IMPAIR_CORRUPT), 0);
}

TEST_F(switch_test, duplication_is_a_redirect_that_counts_two)
{
    const data_packet packet{.destination = to_spine};
    mrc_sw_impair_row always{};

    always.duplicate = MRC_SW_ALWAYS;
    impair(spine_port, always);
    expect(build(packet), XDP_REDIRECT, forwarded(packet, spine_port, to_spine_shifted),
           {{MRC_SW_FORWARDED, 1}, {MRC_SW_IMPAIR_DUPLICATE, 1}});
    EXPECT_EQ(row<mrc_sw_port_row>(program_->maps.sw_ports, spine_port).tx_packets, 2U);
}

TEST_F(switch_test, kernel_forwarding_passes_the_packet_untouched_after_the_ingress_ports_impairments)
{
    load(true);
    const packet_bytes in = build({.destination = to_spine, .hop_limit = 1});
    mrc_sw_impair_row row{};

    expect(in, XDP_PASS, in, {{MRC_SW_PASS_KERNEL, 1}});
    row.duplicate = MRC_SW_ALWAYS;
    impair(host_port, row);
    expect(in, XDP_PASS, in, {{MRC_SW_PASS_KERNEL, 1}});
    row.loss = MRC_SW_ALWAYS;
    impair(host_port, row);
    expect(in, XDP_DROP, in, {{MRC_SW_IMPAIR_LOSS, 1}});
    row.flags = MRC_SW_BLACKHOLE;
    impair(host_port, row);
    expect(in, XDP_DROP, in, {{MRC_SW_IMPAIR_BLACKHOLE, 1}});
    const packet_bytes other = build({.destination = "fe80::1"});
    expect(other, XDP_PASS, other, {{MRC_SW_PASS_NOT_USID, 1}});
}

// Informative: the figures move with the machine, so none is asserted.
TEST_F(switch_test, prints_what_a_packet_costs)
{
    constexpr int repeat = 200; // each run takes one from the hop limit
    const packet_bytes routed = build({.destination = to_spine_shifted, .hop_limit = 255});
    const packet_bytes shifted = build({.destination = to_spine});
    const packet_bytes foreign = build({.destination = "fe80::1"});
    const std::uint32_t warm = ns_per_packet(fd(), routed, repeat);
    const std::uint32_t cold = timed_ns_per_run(fd(), shifted);
    mrc_sw_impair_row queue{};

    queue.flags = MRC_SW_ECN | MRC_SW_TRIM;
    queue.rate = 100ULL << MRC_SW_RATE_SHIFT;
    queue.trim_bytes = queue.drop_bytes = queue.ecn_min_bytes = queue.ecn_max_bytes = 1U << 30;
    impair(spine_port, queue);
    std::cout << "switch: " << warm << " ns per routed packet, " << ns_per_packet(fd(), routed, repeat)
              << " with a virtual queue, " << ns_per_packet(fd(), foreign, repeat)
              << " per foreign packet; one shifted packet a system call: " << cold << ", with a virtual queue "
              << timed_ns_per_run(fd(), shifted) << '\n';
}

} // namespace
} // namespace mrc::test
