// SPDX-License-Identifier: Apache-2.0
#include "codec/icrc.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <isa-l/crc.h>

#include "codec/ip_layout.h"

namespace mrc::codec
{
namespace
{

// Everything that is masked lies in IP, UDP and BTH: only these are copied, the payload is read in place.
constexpr std::size_t longest_masked = ipv6_header_bytes + udp_header_bytes + sizeof(mrc_bth);

void mask_ipv6(std::byte *header)
{
    header[ipv6_at::flow] |= std::byte{0x0F};
    std::memset(header + ipv6_at::flow + 1, 0xFF, 3);
    header[ipv6_at::hop_limit] = std::byte{0xFF};
}

void mask_ipv4(std::byte *header)
{
    header[ipv4_at::tos] = std::byte{0xFF};
    header[ipv4_at::ttl] = std::byte{0xFF};
    std::memset(header + ipv4_at::checksum, 0xFF, 2);
}

// ISA-L complements the state on entry and on return, as zlib does.
std::uint32_t continue_crc(std::uint32_t crc, std::span<const std::byte> bytes)
{
    return crc32_gzip_refl(crc, reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size());
}

} // namespace

std::uint32_t icrc(std::span<const std::byte> ip_packet_without_icrc)
{
    if (ip_packet_without_icrc.empty())
        return ~MRC_ICRC_SEED;

    const bool ipv4 = ip_version(ip_packet_without_icrc[0]) == 4;
    const std::size_t ip_bytes = ip_header_bytes(ipv4);
    const std::size_t masked_bytes =
        std::min(ip_packet_without_icrc.size(), ip_bytes + udp_header_bytes + sizeof(mrc_bth));
    std::array<std::byte, longest_masked> masked;

    std::memcpy(masked.data(), ip_packet_without_icrc.data(), masked_bytes);
    if (ipv4)
        mask_ipv4(masked.data());
    else
        mask_ipv6(masked.data());
    std::memset(masked.data() + ip_bytes + udp_at::checksum, 0xFF, 2);
    masked[ip_bytes + udp_header_bytes + offsetof(mrc_bth, var_res)] = std::byte{0xFF};

    const std::uint32_t headers = continue_crc(~MRC_ICRC_SEED, std::span{masked}.first(masked_bytes));
    return continue_crc(headers, ip_packet_without_icrc.subspan(masked_bytes));
}

} // namespace mrc::codec
