// SPDX-License-Identifier: Apache-2.0
// What stands in front of an IP packet: Ethernet, and behind it the outer IPv6 header where there is one: SRv6 without
// SRH, the destination is the carrier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mrc/abi/maps.h"

#include "codec/ip_layout.h"
#include "codec/mac_address.h"

namespace mrc::codec
{

struct outer_header {
    mac_address destination_mac{};
    mac_address source_mac{};
    mrc_ip source{};
    mrc_ip carrier{};               // destination address: block and uSIDs
    std::uint8_t traffic_class = 0; // MRC_TCLASS(dscp, ecn)
    std::uint32_t flow_label = 0;   // 20 bits
    std::uint8_t hop_limit = 64;
    std::uint8_t next_header = protocol_ipv6; // or protocol_ipv4, by the inner header
    std::uint16_t payload_length = 0;         // the inner IP packet
};

inline constexpr std::size_t ethernet_header_bytes = 14;
inline constexpr std::size_t outer_header_bytes = ethernet_header_bytes + ipv6_header_bytes;

// `next_header` says what follows: protocol_ipv6 or protocol_ipv4.
void write_ethernet(std::span<std::byte, ethernet_header_bytes> out, const mac_address &destination,
                    const mac_address &source, std::uint8_t next_header);
void write_outer(std::span<std::byte, outer_header_bytes> out, const outer_header &header);

} // namespace mrc::codec
