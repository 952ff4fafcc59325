// SPDX-License-Identifier: Apache-2.0
// Builds inner IP packets: IPv6 or IPv4, UDP, BTH, extension headers around a payload that is already in place, ICRC.
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

// Inner addresses. Two addresses in ::ffff:0:0/96 select an inner IPv4 header.
struct ip_endpoints {
    mrc_ip source{};
    mrc_ip destination{};
};

struct encode_options {
    ip_endpoints ip{};
    std::uint16_t udp_port = MRC_UDP_PORT_ROCE;
    std::uint8_t dscp = MRC_DSCP_CONTROL; // enum mrc_dscp, 6 bits
    std::uint8_t ecn = MRC_ECN_NOT_ECT;   // enum mrc_ecn, 2 bits
    std::uint8_t hop_limit = 64;
    protocol::ev entropy{}; // flow label and UDP source port (D2); IPv4 carries the low 16 bits only
};

enum class codec_error : std::uint8_t {
    opcode,           // not a data opcode, or the opcode and the presence of an immediate disagree
    mixed_families,   // one address is IPv4, the other IPv6
    entropy_too_wide, // IPv4 carries 16 bits of entropy
    packet_too_long,  // beyond the IP length field
    buffer_too_small, // `out` is shorter than encoded_size()
};
[[nodiscard]] std::string_view text(codec_error error);

// Offset of the payload (of the ICRC, in packets that carry none) from the start of the inner IP header.
[[nodiscard]] std::size_t payload_offset(const protocol::packet &packet, bool ipv4);

// Length of the inner IP packet, pad and ICRC included.
[[nodiscard]] std::size_t encoded_size(const protocol::packet &packet, bool ipv4);

// Writes the inner IP packet into the first encoded_size() bytes of `out` and returns that size. The payload of a data
// packet must already stand at payload_offset(); nothing under the ICRC may change afterwards. Values wider than their
// field on the wire lose their high bits. After an error `out` is unchanged.
[[nodiscard]] std::expected<std::size_t, codec_error> encode(const protocol::packet &packet,
                                                             const encode_options &options, std::span<std::byte> out);

} // namespace mrc::codec
