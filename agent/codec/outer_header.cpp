// SPDX-License-Identifier: Apache-2.0
#include "codec/outer_header.h"

#include "codec/byte_order.h"

namespace mrc::codec
{

void write_outer(std::span<std::byte, outer_header_bytes> out, const outer_header &header)
{
    constexpr std::uint16_t ethertype_ipv6 = 0x86DD;
    std::byte *const ip = out.data() + ethernet_header_bytes;

    store(out.data(), header.destination_mac);
    store(out.data() + header.destination_mac.size(), header.source_mac);
    store_be(out.data() + 12, ethertype_ipv6);
    store_be(ip + ipv6_at::flow, 6u << 28 | std::uint32_t{header.traffic_class} << 20 | (header.flow_label & 0xFFFFFu));
    store_be(ip + ipv6_at::payload_length, header.payload_length);
    ip[ipv6_at::next_header] = std::byte{header.next_header};
    ip[ipv6_at::hop_limit] = std::byte{header.hop_limit};
    store(ip + ipv6_at::source, header.source);
    store(ip + ipv6_at::destination, header.carrier);
}

} // namespace mrc::codec
