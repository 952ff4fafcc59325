// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/loop_sender.h"

#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "codec/ipv6_header.h"
#include "kernel/startup_error.h"

namespace mrc::service
{

namespace
{

loop_frame frame_of(const loop_way &way, std::uint32_t row, const mrc_ip &source, const loop_sender::setup &how)
{
    loop_frame frame{};
    constexpr std::uint16_t udp_bytes = sizeof(frame.udp) + sizeof(frame.loop);
    frame.ethernet.ether_type = htons(ETHERTYPE_IPV6);
    frame.outer = codec::ipv6_header({.source = source,
                                      .destination = way.carrier,
                                      .next_header = IPPROTO_UDP,
                                      .payload_bytes = udp_bytes,
                                      .dscp = how.dscp});
    frame.udp.uh_sport = htons(MRC_LOOP_UDP_PORT);
    frame.udp.uh_dport = htons(MRC_LOOP_UDP_PORT);
    frame.udp.uh_ulen = htons(udp_bytes);
    frame.loop.cookie = how.cookie;
    frame.loop.row = row;
    return frame;
}

} // namespace

loop_sender::loop_sender(const setup &how)
    : tables_{how.tables}, socket_{::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)}, addresses_(how.ways.size()),
      parts_(how.ways.size()), messages_(how.ways.size())
{
    if (!socket_)
        kernel::fail_startup("cannot open the packet socket of the fabric map ([fabric_map] interval_us = 0 does "
                             "without)");
    static constexpr int on = 1;
    ::setsockopt(socket_.get(), SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on)); // else they wait behind data
    for (std::uint32_t row = 0; row < how.ways.size(); ++row) {
        const std::uint32_t plane = how.ways[row].plane.value;
        planes_.push_back(plane);
        frames_.push_back(frame_of(how.ways[row], row, tables_.ports[plane].address, how));
    }
}

void loop_sender::prepare(std::span<const departure> loops, protocol::instant now)
{
    for (std::size_t i = 0; i < loops.size(); ++i) {
        const std::uint32_t plane = planes_[loops[i].way];
        const mrc_port_row &port = tables_.ports[plane];
        loop_frame &frame = frames_[loops[i].way];
        std::memcpy(frame.ethernet.ether_dhost, tables_.next_hops[plane].mac, sizeof(frame.ethernet.ether_dhost));
        std::memcpy(frame.ethernet.ether_shost, port.mac, sizeof(frame.ethernet.ether_shost));
        std::memcpy(&frame.outer.ip6_src, &port.address, sizeof(port.address));
        frame.loop.number = loops[i].number;
        frame.loop.sent_ns = static_cast<__u64>(now.time_since_epoch().count());
        addresses_[i] = {};
        addresses_[i].sll_family = AF_PACKET;
        addresses_[i].sll_protocol = htons(ETH_P_IPV6);
        addresses_[i].sll_ifindex = static_cast<int>(port.ifindex);
        addresses_[i].sll_halen = sizeof(frame.ethernet.ether_dhost);
        std::memcpy(addresses_[i].sll_addr, frame.ethernet.ether_dhost, sizeof(frame.ethernet.ether_dhost));
        parts_[i] = {.iov_base = &frame, .iov_len = sizeof(frame)};
        messages_[i] = {};
        messages_[i].msg_hdr = {.msg_name = &addresses_[i],
                                .msg_namelen = sizeof(addresses_[i]),
                                .msg_iov = &parts_[i],
                                .msg_iovlen = 1,
                                .msg_control = nullptr,
                                .msg_controllen = 0,
                                .msg_flags = 0};
    }
}

} // namespace mrc::service
