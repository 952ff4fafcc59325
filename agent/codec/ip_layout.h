// SPDX-License-Identifier: Apache-2.0
// Sizes and offsets of IPv6 (RFC 8200), IPv4 (RFC 791) and UDP, as far as MRC frames use them, and addresses as mrc_ip.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "mrc/abi/maps.h"

namespace mrc::codec
{

inline constexpr std::size_t ipv6_header_bytes = 40;
inline constexpr std::size_t ipv4_header_bytes = 20; // without options: MRC has none
inline constexpr std::size_t udp_header_bytes = 8;
inline constexpr std::size_t longest_ip_length_field = 0xFFFF;

namespace ipv6_at
{
inline constexpr std::size_t flow = 0; // version 4, traffic class 8, flow label 20
inline constexpr std::size_t payload_length = 4;
inline constexpr std::size_t next_header = 6;
inline constexpr std::size_t hop_limit = 7;
inline constexpr std::size_t source = 8;
inline constexpr std::size_t destination = 24;
} // namespace ipv6_at

namespace ipv4_at
{
inline constexpr std::size_t version = 0; // version 4, header length 4 in words
inline constexpr std::size_t tos = 1;
inline constexpr std::size_t total_length = 2;
inline constexpr std::size_t fragment = 6; // reserved, DF, MF, offset 13
inline constexpr std::size_t ttl = 8;
inline constexpr std::size_t protocol = 9;
inline constexpr std::size_t checksum = 10;
inline constexpr std::size_t source = 12;
inline constexpr std::size_t destination = 16;
} // namespace ipv4_at

namespace udp_at
{
inline constexpr std::size_t source_port = 0;
inline constexpr std::size_t destination_port = 2;
inline constexpr std::size_t length = 4;
inline constexpr std::size_t checksum = 6;
} // namespace udp_at

inline constexpr std::uint8_t protocol_ipv4 = 4; // IPv4 in IPv6
inline constexpr std::uint8_t protocol_udp = 17;
inline constexpr std::uint8_t protocol_ipv6 = 41; // IPv6 in IPv6
inline constexpr std::uint16_t ipv4_dont_fragment = 0x4000;
inline constexpr std::uint16_t ipv4_fragment_mask = 0x3FFF; // more fragments, or an offset

inline constexpr std::size_t ipv4_mapped_prefix_bytes = 12; // ::ffff:0:0/96

[[nodiscard]] inline bool is_ipv4_mapped(const mrc_ip &address)
{
    return std::all_of(address.bytes, address.bytes + 10, [](std::uint8_t byte) { return byte == 0; }) &&
           address.bytes[10] == 0xFF && address.bytes[11] == 0xFF;
}

// Of a packet's first byte.
[[nodiscard]] constexpr unsigned int ip_version(std::byte first)
{
    return std::to_integer<unsigned int>(first) >> 4;
}

[[nodiscard]] constexpr std::size_t ip_header_bytes(bool ipv4)
{
    return ipv4 ? ipv4_header_bytes : ipv6_header_bytes;
}

} // namespace mrc::codec
