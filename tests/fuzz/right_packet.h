// SPDX-License-Identifier: Apache-2.0
// Makes lengths and ICRC of random bytes right, as the first byte of a fuzzer's input says: without that nearly every
// mutation would end at the same two checks.
#pragma once

#include <cstdint>
#include <span>

#include "codec/byte_order.h"
#include "codec/frame_codec.h"
#include "codec/ip_layout.h"

namespace mrc::fuzz
{

inline constexpr std::uint8_t mode_trimmed = 1;
inline constexpr std::uint8_t mode_right_lengths = 2;
inline constexpr std::uint8_t mode_right_icrc = 4;

inline bool is_ipv4(std::span<const std::byte> packet)
{
    return !packet.empty() && codec::ip_version(packet[0]) == 4;
}

inline void make_lengths_right(std::span<std::byte> packet)
{
    const std::size_t udp = codec::ip_header_bytes(is_ipv4(packet));
    if (packet.size() < udp + codec::udp_header_bytes || packet.size() > codec::longest_ip_length_field)
        return;
    const auto size = static_cast<std::uint16_t>(packet.size());
    if (is_ipv4(packet))
        codec::store_be(packet.data() + codec::ipv4_at::total_length, size);
    else
        codec::store_be(packet.data() + codec::ipv6_at::payload_length, static_cast<std::uint16_t>(size - udp));
    codec::store_be(packet.data() + udp + codec::udp_at::length, static_cast<std::uint16_t>(size - udp));
}

inline void make_icrc_right(std::span<std::byte> packet)
{
    if (packet.size() < MRC_ICRC_LEN)
        return;
    const std::size_t at = packet.size() - MRC_ICRC_LEN;
    codec::store(packet.data() + at, codec::little_endian(codec::icrc(packet.first(at))));
}

inline void make_right(std::span<std::byte> packet, std::uint8_t mode)
{
    if ((mode & mode_right_lengths) != 0)
        make_lengths_right(packet);
    if ((mode & mode_right_icrc) != 0)
        make_icrc_right(packet);
}

} // namespace mrc::fuzz
