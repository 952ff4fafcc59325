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

#include "kernel/startup_error.h"

namespace mrc::service
{

namespace
{

constexpr std::uint8_t report_hop_limit = 64;

struct report_head {
    ether_header ethernet;
    ip6_hdr outer;
    ip6_hdr inner;
    udphdr udp;
} __attribute__((packed));

ip6_hdr ip_header(const mrc_ip &source, const mrc_ip &destination, std::uint8_t next, std::size_t payload,
                  std::uint8_t dscp)
{
    ip6_hdr header{};
    header.ip6_flow = htonl(6U << 28 | static_cast<std::uint32_t>(MRC_TCLASS(dscp, MRC_ECN_NOT_ECT)) << 20);
    header.ip6_plen = htons(static_cast<std::uint16_t>(payload));
    header.ip6_nxt = next;
    header.ip6_hlim = report_hop_limit;
    std::memcpy(&header.ip6_src, &source, sizeof(source));
    std::memcpy(&header.ip6_dst, &destination, sizeof(destination));
    return header;
}

std::uint32_t sum_words(std::span<const std::byte> bytes)
{
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        sum += std::to_integer<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
    return sum;
}

// RFC 8200 section 8.1.
std::uint16_t udp_checksum(const ip6_hdr &header, const udphdr &udp, std::span<const std::byte> payload)
{
    const auto length = static_cast<std::uint32_t>(sizeof(udp) + payload.size());
    std::uint32_t sum = sum_words({reinterpret_cast<const std::byte *>(&header.ip6_src), 2 * sizeof(mrc_ip)}) +
                        sum_words(std::as_bytes(std::span{&udp, 1})) + sum_words(payload) + length + IPPROTO_UDP;
    while (sum >> 16 != 0)
        sum = (sum & 0xFFFF) + (sum >> 16);
    const auto checksum = static_cast<std::uint16_t>(~sum);
    return htons(checksum == 0 ? 0xFFFF : checksum);
}

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
    head.outer = ip_header(port.address, by.carrier, IPPROTO_IPV6, sizeof(ip6_hdr) + udp_bytes, dscp_);
    const ip6_hdr inner = ip_header(own_, to, IPPROTO_UDP, udp_bytes, dscp_);
    udphdr udp{};
    udp.uh_sport = htons(report_source_port);
    udp.uh_dport = htons(report_port);
    udp.uh_ulen = htons(static_cast<std::uint16_t>(udp_bytes));
    udp.uh_sum = udp_checksum(inner, udp, report);
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
