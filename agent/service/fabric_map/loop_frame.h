// SPDX-License-Identifier: Apache-2.0
// A loop as it is on the wire: an IPv6 packet without anything inside but mrc_loop, which switches shift and send on as
// they do a carrier of data.
#pragma once

#include <cstdint>

#include <net/ethernet.h>
#include <netinet/in.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>

#include "codec/ipv6_header.h"
#include "mrc/abi/ip.h"
#include "mrc/abi/maps.h"

namespace mrc::service
{

struct loop_frame {
    ether_header ethernet;
    ip6_hdr outer;
    udphdr udp;
    mrc_loop loop;
} __attribute__((packed));

// All but the MAC addresses and what stands in `loop`.
inline loop_frame make_loop_frame(const mrc_ip &carrier, const mrc_ip &source, std::uint8_t dscp)
{
    constexpr std::uint16_t udp_bytes = sizeof(udphdr) + sizeof(mrc_loop);
    loop_frame frame{};
    frame.ethernet.ether_type = htons(ETHERTYPE_IPV6);
    frame.outer = codec::ipv6_header({.source = source,
                                      .destination = carrier,
                                      .next_header = IPPROTO_UDP,
                                      .payload_bytes = udp_bytes,
                                      .dscp = dscp});
    frame.udp.uh_sport = htons(MRC_LOOP_UDP_PORT);
    frame.udp.uh_dport = htons(MRC_LOOP_UDP_PORT);
    frame.udp.uh_ulen = htons(udp_bytes);
    return frame;
}

inline bool is_loop(const loop_frame &frame)
{
    return frame.outer.ip6_nxt == IPPROTO_UDP && frame.udp.uh_sport == htons(MRC_LOOP_UDP_PORT) &&
           frame.udp.uh_dport == htons(MRC_LOOP_UDP_PORT);
}

} // namespace mrc::service
