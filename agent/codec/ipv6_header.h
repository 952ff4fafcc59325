// SPDX-License-Identifier: Apache-2.0
// IPv6 headers of packets that are no MRC's: the fabric map's loops and reports, and what mrcctl diagnose sends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>

#include <arpa/inet.h>
#include <netinet/ip6.h>

#include "mrc/abi/ip.h"
#include "mrc/abi/wire.h"

namespace mrc::codec
{

struct ipv6_fields {
    mrc_ip source{};
    mrc_ip destination{};
    std::uint8_t next_header = 0; // IPPROTO_…
    std::size_t payload_bytes = 0;
    std::uint8_t dscp = 0;
};

// With the hop limit that hosts usually give, not ECT, without a flow label. RFC 8200 section 3.
[[nodiscard]] inline ip6_hdr ipv6_header(const ipv6_fields &fields)
{
    constexpr std::uint8_t hop_limit = 64;
    ip6_hdr header{};
    header.ip6_flow = htonl(6U << 28 | static_cast<std::uint32_t>(MRC_TCLASS(fields.dscp, MRC_ECN_NOT_ECT)) << 20);
    header.ip6_plen = htons(static_cast<std::uint16_t>(fields.payload_bytes));
    header.ip6_nxt = fields.next_header;
    header.ip6_hlim = hop_limit;
    std::memcpy(&header.ip6_src, &fields.source, sizeof(fields.source));
    std::memcpy(&header.ip6_dst, &fields.destination, sizeof(fields.destination));
    return header;
}

// Of the payload that follows the header at once, given in parts, all but the last of an even length, its checksum
// zero. In network byte order; UDP sends 0 as 0xFFFF. RFC 8200 section 8.1.
[[nodiscard]] inline std::uint16_t payload_checksum(const ip6_hdr &header,
                                                    std::initializer_list<std::span<const std::byte>> parts)
{
    const auto sum_of = [](std::span<const std::byte> bytes) {
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i < bytes.size(); ++i)
            sum += std::to_integer<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
        return sum;
    };
    std::uint32_t sum = ntohs(header.ip6_plen) + std::uint32_t{header.ip6_nxt} +
                        sum_of(std::as_bytes(std::span{&header.ip6_src, 1})) +
                        sum_of(std::as_bytes(std::span{&header.ip6_dst, 1}));
    for (const std::span<const std::byte> part : parts)
        sum += sum_of(part);
    while (sum >> 16 != 0)
        sum = (sum & 0xFFFF) + (sum >> 16);
    return htons(static_cast<std::uint16_t>(~sum));
}

} // namespace mrc::codec
