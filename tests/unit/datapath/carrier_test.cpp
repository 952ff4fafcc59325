// SPDX-License-Identifier: Apache-2.0
#include "datapath/carrier.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

namespace mrc::datapath
{
namespace
{

constexpr mrc_ip here{{0xfd, 1}};
constexpr mrc_ip here4{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1}};
constexpr mrc_ip here_on_plane{{0xfd, 0x10, 0, 2}};
constexpr mrc_ip there{{0xfd, 2}};
constexpr mrc_ip there4{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2}};
constexpr mrc_ip there_on_plane{{0xfd, 0x20, 0, 2}};

bool same(const mrc_ip &a, const mrc_ip &b)
{
    return std::ranges::equal(a.bytes, b.bytes);
}

own_addresses own()
{
    own_addresses all{.common = here, .common4 = here4, .planes = {}};
    all.planes[2] = here_on_plane;
    return all;
}

mrc_path_row path_of(mrc_carrier_kind kind)
{
    mrc_path_row path{};
    path.kind = kind;
    path.plane = 2;
    path.carrier = there_on_plane;
    return path;
}

TEST(carrier, an_srv6_path_carries_packets_between_common_addresses)
{
    const auto ends = endpoints_on(path_of(MRC_CARRIER_SRV6), own(), there);
    EXPECT_TRUE(same(ends.source, here) && same(ends.destination, there));
    const auto ends4 = endpoints_on(path_of(MRC_CARRIER_SRV6), own(), there4);
    EXPECT_TRUE(same(ends4.source, here4) && same(ends4.destination, there4));
}

TEST(carrier, a_direct_path_between_those_of_its_plane_whichever_the_peer_was_named_by)
{
    for (const mrc_ip &named : {there, there4, there_on_plane}) {
        const auto ends = endpoints_on(path_of(MRC_CARRIER_DIRECT), own(), named);
        EXPECT_TRUE(same(ends.source, here_on_plane) && same(ends.destination, there_on_plane));
    }
}

// To the next hop, and no outer header. The kernel's program writes the same: tests/bpf/transmit_engine_test.cpp.
TEST(carrier, a_direct_path_needs_an_ethernet_header_only)
{
    mrc_port_row port{};
    std::ranges::fill(port.mac, __u8{0x22});
    mrc_next_hop_row next_hop{};
    std::ranges::fill(next_hop.mac, __u8{0x44});
    const mrc_path_row path = path_of(MRC_CARRIER_DIRECT);
    for (const auto &[next_header, ethertype] : {std::pair{41, 0x86DD}, std::pair{4, 0x0800}}) {
        std::array<std::byte, 15> frame{};
        frame[14] = std::byte{0x77};
        write_carrier(frame, {.next_header = static_cast<std::uint8_t>(next_header), .bytes = 1}, path, port, next_hop);
        EXPECT_EQ(mrc_path_header_bytes(&path), 14U);
        EXPECT_TRUE(std::all_of(frame.begin(), frame.begin() + 6, [](auto byte) { return byte == std::byte{0x44}; }));
        EXPECT_TRUE(std::all_of(frame.begin() + 6, frame.begin() + 12, [](auto it) { return it == std::byte{0x22}; }));
        EXPECT_EQ(std::to_integer<int>(frame[12]) << 8 | std::to_integer<int>(frame[13]), ethertype);
        EXPECT_EQ(frame[14], std::byte{0x77}) << "the packet stays as it is";
    }
}

} // namespace
} // namespace mrc::datapath
