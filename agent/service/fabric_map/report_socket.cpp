// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/report_socket.h"

#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include "codec/ipv6_header.h"
#include "kernel/startup_error.h"

namespace mrc::service
{

namespace
{

struct report_head {
    ether_header ethernet;
    ip6_hdr outer;
    ip6_hdr inner;
    udphdr udp;
} __attribute__((packed));

kernel::unique_fd open_receiver(const mrc_ip &own, int &problem)
{
    kernel::unique_fd fd{::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    static constexpr int on = 1; // the address of a new device may be tentative for a moment
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof(on));
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(report_port);
    std::memcpy(&address.sin6_addr, &own, sizeof(own));
    if (fd && ::bind(fd.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) == 0)
        return fd;
    problem = errno;
    return {};
}

} // namespace

report_socket::report_socket(const kernel::host_tables &tables, const mrc_ip &own, std::uint8_t dscp)
    : tables_{tables}, own_{own}, dscp_{dscp}, sender_{::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)},
      receiver_{open_receiver(own, problem_)}
{
    if (!sender_)
        kernel::fail_startup("cannot open the packet socket of the fabric map's reports ([fabric_map] exchange = "
                             "false does without)");
    static constexpr int on = 1;
    ::setsockopt(sender_.get(), SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on));
}

void report_socket::send(const way &by, const mrc_ip &to, std::span<const std::byte> report) const
{
    const mrc_port_row &port = tables_.ports[by.plane.value];
    const std::size_t udp_bytes = sizeof(udphdr) + report.size();
    report_head head{};
    std::memcpy(head.ethernet.ether_dhost, tables_.next_hops[by.plane.value].mac, sizeof(head.ethernet.ether_dhost));
    std::memcpy(head.ethernet.ether_shost, port.mac, sizeof(head.ethernet.ether_shost));
    head.ethernet.ether_type = htons(ETHERTYPE_IPV6);
    head.outer = codec::ipv6_header({.source = port.address,
                                     .destination = by.carrier,
                                     .next_header = IPPROTO_IPV6,
                                     .payload_bytes = sizeof(ip6_hdr) + udp_bytes,
                                     .dscp = dscp_});
    const ip6_hdr inner = codec::ipv6_header(
        {.source = own_, .destination = to, .next_header = IPPROTO_UDP, .payload_bytes = udp_bytes, .dscp = dscp_});
    udphdr udp{};
    udp.uh_sport = htons(report_source_port);
    udp.uh_dport = htons(report_port);
    udp.uh_ulen = htons(static_cast<std::uint16_t>(udp_bytes));
    const std::uint16_t sum = codec::payload_checksum(inner, {std::as_bytes(std::span{&udp, 1}), report});
    udp.uh_sum = sum == 0 ? 0xFFFF : sum;
    head.inner = inner;
    head.udp = udp;
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_IPV6);
    address.sll_ifindex = static_cast<int>(port.ifindex);
    address.sll_halen = sizeof(head.ethernet.ether_dhost);
    std::memcpy(address.sll_addr, head.ethernet.ether_dhost, sizeof(head.ethernet.ether_dhost));
    iovec parts[2] = {{.iov_base = &head, .iov_len = sizeof(head)},
                      {.iov_base = const_cast<std::byte *>(report.data()), .iov_len = report.size()}};
    const msghdr message{.msg_name = &address,
                         .msg_namelen = sizeof(address),
                         .msg_iov = parts,
                         .msg_iovlen = 2,
                         .msg_control = nullptr,
                         .msg_controllen = 0,
                         .msg_flags = 0};
    (void)::sendmsg(sender_.get(), &message, MSG_DONTWAIT);
}

std::optional<std::size_t> report_socket::receive_one(std::span<std::byte> to, mrc_ip &from) const
{
    sockaddr_in6 address{};
    socklen_t address_bytes = sizeof(address);
    const ssize_t received = ::recvfrom(receiver_.get(), to.data(), to.size(), MSG_DONTWAIT,
                                        reinterpret_cast<sockaddr *>(&address), &address_bytes);
    if (received < 0)
        return std::nullopt;
    if (address.sin6_port != htons(report_source_port))
        return 0;
    std::memcpy(&from, &address.sin6_addr, sizeof(from));
    return static_cast<std::size_t>(received);
}

} // namespace mrc::service
