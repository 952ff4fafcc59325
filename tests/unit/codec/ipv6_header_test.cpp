// SPDX-License-Identifier: Apache-2.0
#include "codec/ipv6_header.h"

#include <array>
#include <bit>

#include <gtest/gtest.h>
#include <netinet/in.h>

namespace mrc::codec
{
namespace
{

mrc_ip host(std::uint8_t number)
{
    return {.bytes = {0xFD, 0x6D, 0x72, 0x63, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number}};
}

// UDP from port 791 to 61734 without a checksum, and its payload.
constexpr std::array<std::uint8_t, 8> udp{0x03, 0x17, 0xF1, 0x26, 0, 13, 0, 0};
constexpr std::array<std::uint8_t, 5> payload{'h', 'e', 'l', 'l', 'o'};

TEST(ipv6_header, has_every_field_where_rfc_8200_has_it)
{
    const ip6_hdr header = ipv6_header({.source = host(1),
                                        .destination = host(2),
                                        .next_header = IPPROTO_UDP,
                                        .payload_bytes = 13,
                                        .dscp = MRC_DSCP_CONTROL});
    std::array<std::uint8_t, 40> expected{0x6B, 0x80, 0, 0, 0, 13, IPPROTO_UDP, 64};
    expected[8] = expected[24] = 0xFD;
    expected[9] = expected[25] = 0x6D;
    expected[10] = expected[26] = 0x72;
    expected[11] = expected[27] = 0x63;
    expected[23] = 1;
    expected[39] = 2;
    const auto bytes = std::bit_cast<std::array<std::uint8_t, 40>>(header);
    EXPECT_EQ(bytes, expected);
}

TEST(ipv6_header, checksum_of_an_independent_sum)
{
    const ip6_hdr header = ipv6_header(
        {.source = host(1), .destination = host(2), .next_header = IPPROTO_UDP, .payload_bytes = 13, .dscp = 0});
    EXPECT_EQ(payload_checksum(header, {std::as_bytes(std::span{udp}), std::as_bytes(std::span{payload})}),
              htons(0xE81E));
}

} // namespace
} // namespace mrc::codec
