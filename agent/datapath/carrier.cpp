// SPDX-License-Identifier: Apache-2.0
#include "datapath/carrier.h"

#include <algorithm>

#include "codec/ip_layout.h"
#include "codec/outer_header.h"

namespace mrc::datapath
{

namespace
{

codec::mac_address mac_of(const __u8 (&bytes)[6])
{
    codec::mac_address mac;
    std::ranges::copy(bytes, mac.begin());
    return mac;
}

} // namespace

codec::ip_endpoints endpoints_on(const mrc_path_row &path, const own_addresses &own, const mrc_ip &to)
{
    if (path.kind == MRC_CARRIER_DIRECT)
        return {.source = own.planes[path.plane % own.planes.size()], .destination = path.carrier};
    return {.source = codec::is_ipv4_mapped(to) ? own.common4 : own.common, .destination = to};
}

void write_carrier(std::span<std::byte> frame, const departure &packet, const mrc_path_row &path,
                   const mrc_port_row &port, const mrc_next_hop_row &next_hop)
{
    if (path.kind == MRC_CARRIER_DIRECT) {
        codec::write_ethernet(frame.first<codec::ethernet_header_bytes>(), mac_of(next_hop.mac), mac_of(port.mac),
                              packet.next_header);
        return;
    }
    mrc_ip source = port.address;
    mrc_mark_source(&source, &path);
    codec::write_outer(frame.first<codec::outer_header_bytes>(),
                       {.destination_mac = mac_of(next_hop.mac),
                        .source_mac = mac_of(port.mac),
                        .source = source,
                        .carrier = mrc_path_destination(&path, packet.host_usid),
                        .traffic_class = packet.tclass,
                        .flow_label = packet.flow_label,
                        .next_header = packet.next_header,
                        .payload_length = packet.bytes});
}

} // namespace mrc::datapath
