// SPDX-License-Identifier: Apache-2.0
#include "codec/outer_header.h"

#include "codec/byte_order.h"

namespace mrc::codec
{

void write_ethernet(std::span<std::byte, ethernet_header_bytes> out, const mac_address &destination,
                    const mac_address &source, std::uint8_t next_header)
{
    constexpr std::uint16_t ethertype_ipv6 = 0x86DD;
    constexpr std::uint16_t ethertype_ipv4 = 0x0800;

    store(out.data(), destination);
    store(out.data() + destination.size(), source);
    store_be(out.data() + 12, next_header == protocol_ipv4 ? ethertype_ipv4 : ethertype_ipv6);
}

void write_outer(std::span<std::byte, outer_header_bytes> out, const outer_header &header)
{
    std::byte *const ip = out.data() + ethernet_header_bytes;

    write_ethernet(out.first<ethernet_header_bytes>(), header.destination_mac, header.source_mac, protocol_ipv6);
    store_be(ip + ipv6_at::flow, 6u << 28 | std::uint32_t{header.traffic_class} << 20 | (header.flow_label & 0xFFFFFu));
    store_be(ip + ipv6_at::payload_length, header.payload_length);
    ip[ipv6_at::next_header] = std::byte{header.next_header};
    ip[ipv6_at::hop_limit] = std::byte{header.hop_limit};
    store(ip + ipv6_at::source, header.source);
    store(ip + ipv6_at::destination, header.carrier);
}

} // namespace mrc::codec
