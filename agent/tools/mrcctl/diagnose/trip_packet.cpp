// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/trip_packet.h"

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip6.h>

#include "codec/ipv6_header.h"

namespace mrc::ctl::diagnose
{

namespace
{

template <typename Part>
void append(std::vector<std::uint8_t> &to, const Part &part)
{
    const auto *const bytes = reinterpret_cast<const std::uint8_t *>(&part);
    to.insert(to.end(), bytes, bytes + sizeof(part));
}

std::vector<std::uint8_t> inner_packet(const trip_frame &frame, std::size_t inner_bytes)
{
    const std::size_t echo = frame.is_echo ? sizeof(icmp6_hdr) : 0;
    const std::size_t least = sizeof(ip6_hdr) + echo + sizeof(trip_mark);
    const std::size_t payload = std::max(inner_bytes, least) - sizeof(ip6_hdr);
    const auto next_header = static_cast<std::uint8_t>(frame.is_echo ? IPPROTO_ICMPV6 : IPPROTO_NONE);
    const ip6_hdr header = codec::ipv6_header({.source = frame.source,
                                               .destination = frame.target,
                                               .next_header = next_header,
                                               .payload_bytes = payload,
                                               .dscp = MRC_DSCP_CONTROL}); // as mrcd's own control packets
    std::vector<std::uint8_t> packet;
    append(packet, header);
    if (frame.is_echo) {
        icmp6_hdr icmp{};
        icmp.icmp6_type = ICMP6_ECHO_REQUEST;
        icmp.icmp6_id = htons(static_cast<std::uint16_t>(frame.mark.nonce));
        icmp.icmp6_seq = htons(static_cast<std::uint16_t>(frame.mark.number));
        append(packet, icmp);
    }
    append(packet, frame.mark);
    packet.resize(sizeof(ip6_hdr) + payload);
    if (frame.is_echo) {
        const std::uint16_t sum =
            codec::payload_checksum(header, {std::as_bytes(std::span{packet}.subspan(sizeof(ip6_hdr)))});
        std::memcpy(packet.data() + sizeof(ip6_hdr) + offsetof(icmp6_hdr, icmp6_cksum), &sum, sizeof(sum));
    }
    return packet;
}

} // namespace

std::vector<std::uint8_t> bytes_of(const trip_frame &frame)
{
    const std::size_t inner_bytes = std::max<std::size_t>(frame.outer_bytes, sizeof(ip6_hdr)) - sizeof(ip6_hdr);
    const std::vector<std::uint8_t> inner = inner_packet(frame, inner_bytes);
    ether_header ethernet{};
    std::memcpy(ethernet.ether_dhost, frame.gateway_mac, sizeof(ethernet.ether_dhost));
    std::memcpy(ethernet.ether_shost, frame.source_mac, sizeof(ethernet.ether_shost));
    ethernet.ether_type = htons(ETHERTYPE_IPV6);
    std::vector<std::uint8_t> bytes;
    append(bytes, ethernet);
    append(bytes, codec::ipv6_header({.source = frame.source,
                                      .destination = frame.carrier,
                                      .next_header = IPPROTO_IPV6,
                                      .payload_bytes = inner.size(),
                                      .dscp = MRC_DSCP_CONTROL}));
    bytes.insert(bytes.end(), inner.begin(), inner.end());
    return bytes;
}

std::optional<trip_mark> mark_in(std::span<const std::uint8_t> packet)
{
    ip6_hdr header{};
    if (packet.size() < sizeof(header))
        return std::nullopt;
    std::memcpy(&header, packet.data(), sizeof(header));
    std::size_t at = sizeof(header);
    if (header.ip6_nxt == IPPROTO_ICMPV6) {
        if (packet.size() < at + sizeof(icmp6_hdr) || packet[at] != ICMP6_ECHO_REPLY)
            return std::nullopt;
        at += sizeof(icmp6_hdr);
    } else if (header.ip6_nxt != IPPROTO_NONE) {
        return std::nullopt;
    }
    trip_mark mark;
    if (packet.size() < at + sizeof(mark))
        return std::nullopt;
    std::memcpy(&mark, packet.data() + at, sizeof(mark));
    return mark.magic == trip_mark{}.magic ? std::optional{mark} : std::nullopt;
}

} // namespace mrc::ctl::diagnose
