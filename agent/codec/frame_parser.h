// SPDX-License-Identifier: Apache-2.0
// Parses inner IP packets. Bounds come from the bytes present; a length field is believed only after it was compared
// with them. Reserved bits and the UDP and IPv4 checksums are ignored: the ICRC covers what matters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string_view>

#include "mrc/abi/maps.h"

#include "protocol/packet.h"

namespace mrc::codec
{

// In the order in which they are looked for.
enum class parse_error : std::uint8_t {
    ip_truncated,      // bytes end inside the IP header
    ip_version,        // neither 4 nor 6
    ip_header_length,  // IPv4 header shorter than 20 bytes
    ip_fragment,       // MRC is never fragmented
    ip_options,        // IPv4 options: unknown to the ICRC
    mapped_address,    // IPv6 header with an address of ::ffff:0:0/96, which stands for an inner IPv4 header
    not_udp,           // another protocol, or an IPv6 extension header
    udp_truncated,     // bytes end inside the UDP header
    udp_port,          // neither MRC port (D1)
    foreign_opcode,    // not 110xxxxx: RoCE or another service
    packet_truncated,  // IP length beyond the bytes present
    udp_length,        // UDP length and IP length disagree, or no room for BTH and ICRC
    bth_truncated,     // bytes end inside BTH
    transport_version, // BTH.tver is not 0
    unknown_opcode,    // 110xxxxx, but not one of MRC's
    trimmed_control,   // a control packet in a trimmed class: nothing to answer
    headers_truncated, // the opcode's headers do not fit the length
    control_payload,   // bytes or pad count behind the headers of a control packet
    pad_count,         // more pad than there are bytes
    payload_alignment, // payload and pad are no multiple of 4
    icrc,              // differs
    message_length,    // payload longer than its message, or Only with another length than its message
};
inline constexpr auto parse_error_count = static_cast<std::size_t>(parse_error::message_length) + 1;

[[nodiscard]] std::string_view text(parse_error error);
[[nodiscard]] mrc_verdict verdict(parse_error error); // MRC_AGENT_DROP_*

struct decoded {
    protocol::packet content;
    protocol::ev entropy;               // from flow label and UDP source port; 16 bits over IPv4
    std::span<const std::byte> payload; // of a data packet, without pad; a view into the bytes given
    std::uint32_t ip_bytes = 0;         // UDP length + 40, the nominal size of D10: the IPv6 packet's length
    mrc_ip source{};
    mrc_ip destination{};
    std::uint8_t dscp = 0;
    std::uint8_t ecn = 0;
    bool icrc_checked = false;
};

// `ip_packet` starts at the inner IP header; bytes behind the length that IP says are the link's and ignored.
// `trimmed`: the packet arrived in a trimmed class (the outer DSCP tells). Then only destination and PSN are sure to be
// there: ICRC and lengths mean nothing, headers that were cut away read as zero (an absent TSETH or ImmDt as nullopt),
// the payload is empty and payload_bytes 0.
[[nodiscard]] std::expected<decoded, parse_error> decode(std::span<const std::byte> ip_packet, bool trimmed);

} // namespace mrc::codec
