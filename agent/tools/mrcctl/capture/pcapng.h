// SPDX-License-Identifier: Apache-2.0
// Blocks of a capture file: draft-ietf-opsawg-pcapng, one section in this machine's byte order. libpcap writes only the
// older format, which knows neither comments nor directions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mrc::ctl
{

// "Section Header Block", the first of a file.
void append_section(std::string &to, std::string_view application);

// "Interface Description Block": Ethernet, times in nanoseconds. Interfaces count from 0 in the order of their blocks.
void append_interface(std::string &to, std::string_view name, std::string_view description, std::uint32_t snap_bytes);

// Bits of the option epb_flags.
enum class packet_direction : std::uint32_t { inbound = 1, outbound = 2 };

struct pcapng_packet {
    std::uint32_t interface = 0;
    std::uint64_t time_ns = 0;        // since 1970
    std::uint32_t length = 0;         // of the packet, of which `bytes` may be the beginning
    std::span<const std::byte> bytes; // from Ethernet on
    packet_direction direction = packet_direction::inbound;
    std::string_view comment;
};

// "Enhanced Packet Block".
void append_packet(std::string &to, const pcapng_packet &packet);

} // namespace mrc::ctl
