// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-doctor/peer/link_questions.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel/probes/device.h"
#include "kernel/unique_fd.h"
#include "mrc/abi/wire.h"
#include "service/ports/gateway_solicitor.h"

namespace mrc::doctor
{

namespace
{

using clock = std::chrono::steady_clock;
using service::mac_address;

constexpr std::chrono::milliseconds between_rounds{400};
constexpr std::uint32_t header_bytes = 40 + sizeof(icmp6_hdr);
constexpr std::uint32_t least_mtu = 1280; // of IPv6
constexpr std::uint32_t usual_mtu = 1500;

[[noreturn]] void fail(const std::string &what)
{
    throw std::system_error{errno, std::generic_category(), what};
}

sockaddr_in6 socket_address(const in6_addr &address, int ifindex, std::uint16_t port)
{
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(port);
    to.sin6_addr = address;
    to.sin6_scope_id = static_cast<std::uint32_t>(ifindex);
    return to;
}

in6_addr in6_of(const mrc_ip &address)
{
    in6_addr to{};
    std::memcpy(&to, &address, sizeof to);
    return to;
}

mrc_ip ip_of(const in6_addr &address)
{
    mrc_ip to{};
    std::memcpy(&to, &address, sizeof to);
    return to;
}

mac_address mac_of(int fd, const std::string &device)
{
    ifreq wanted{};
    device.copy(wanted.ifr_name, sizeof wanted.ifr_name - 1);
    if (::ioctl(fd, SIOCGIFHWADDR, &wanted) != 0)
        fail("cannot read the MAC address of " + device);
    mac_address mac{};
    std::copy_n(wanted.ifr_hwaddr.sa_data, mac.size(), mac.begin());
    return mac;
}

// Solicited-node multicast address (RFC 4291 section 2.7.1).
in6_addr solicited_node(const mrc_ip &address)
{
    in6_addr to{{{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 0}}};
    std::copy_n(address.bytes + 13, 3, to.s6_addr + 13);
    return to;
}

void set(int fd, int level, int name, int value, const std::string &device)
{
    if (::setsockopt(fd, level, name, &value, sizeof value) != 0)
        fail("cannot set up a socket on " + device);
}

void bind_to(int fd, const std::string &device)
{
    if (::setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device.c_str(), static_cast<socklen_t>(device.size())) != 0)
        fail("cannot bind a socket to " + device);
}

kernel::unique_fd icmp_socket(const std::string &device, int ifindex)
{
    kernel::unique_fd fd{::socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6)};
    if (!fd)
        fail("cannot open an ICMPv6 socket");
    bind_to(fd.get(), device);
    set(fd.get(), IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 255, device);
    set(fd.get(), IPPROTO_IPV6, IPV6_MULTICAST_IF, ifindex, device);
    set(fd.get(), IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0, device);
    set(fd.get(), IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE, device);
    set(fd.get(), IPPROTO_IPV6, IPV6_DONTFRAG, 1, device);
    icmp6_filter wanted{};
    ICMP6_FILTER_SETBLOCKALL(&wanted);
    for (const int type : {ND_NEIGHBOR_ADVERT, ICMP6_ECHO_REPLY, ICMP6_ECHO_REQUEST})
        ICMP6_FILTER_SETPASS(type, &wanted);
    ::setsockopt(fd.get(), IPPROTO_ICMPV6, ICMP6_FILTER, &wanted, sizeof wanted);
    const ipv6_mreq all_routers{.ipv6mr_multiaddr = {{{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}}},
                                .ipv6mr_interface = static_cast<unsigned>(ifindex)};
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_JOIN_GROUP, &all_routers, sizeof all_routers);
    return fd;
}

class link_inquiry
{
public:
    link_inquiry(const plane_way &way, std::span<const plane_way> all)
        : all_{all}, ifindex_{kernel::probes::ifindex_of(way.device)}, icmp_{icmp_socket(way.device, ifindex_)},
          mac_{mac_of(icmp_.get(), way.device)}
    {
        found_.way = way;
        found_.has_carrier = kernel::probes::is_running(way.device);
        udp_ = kernel::unique_fd{::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
        if (!udp_)
            fail("cannot open a UDP socket");
        bind_to(udp_.get(), way.device);
        const sockaddr_in6 to = socket_address(in6_of(way.far), ifindex_, MRC_UDP_PORT_ROCE);
        (void)::connect(udp_.get(), reinterpret_cast<const sockaddr *>(&to), sizeof to); // without a route: no answer
    }

    [[nodiscard]] int fd() const { return icmp_.get(); }
    [[nodiscard]] const peer_plane_evidence &found() const { return found_; }

    // What fails is not answered.
    void ask()
    {
        solicit(found_.way.own);
        for (const plane_way &each : all_)
            solicit(each.far);
        for (const std::uint32_t bytes : {least_mtu, usual_mtu, found_.way.mtu})
            if (bytes <= found_.way.mtu)
                echo(bytes);
        if (::send(udp_.get(), "", 0, MSG_NOSIGNAL) < 0) // or the answer to the last one
            note_refusal();
    }

    void listen()
    {
        alignas(icmp6_hdr) std::array<unsigned char, 65536> packet{};
        sockaddr_in6 from{};
        socklen_t length = sizeof from;
        for (ssize_t bytes = 0; (bytes = ::recvfrom(icmp_.get(), packet.data(), packet.size(), 0,
                                                    reinterpret_cast<sockaddr *>(&from), &length)) >= 0;
             length = sizeof from)
            take(std::span{packet}.first(static_cast<std::size_t>(bytes)), from);
        char nothing = 0;
        if (::recv(udp_.get(), &nothing, sizeof nothing, 0) < 0)
            note_refusal();
    }

private:
    void note_refusal() { found_.refuses_mrc = found_.refuses_mrc || errno == ECONNREFUSED; }

    void send(std::span<const unsigned char> packet, const in6_addr &to) const
    {
        const sockaddr_in6 address = socket_address(to, ifindex_, 0);
        (void)::sendto(icmp_.get(), packet.data(), packet.size(), 0, reinterpret_cast<const sockaddr *>(&address),
                       sizeof address);
    }

    void solicit(const mrc_ip &target) const
    {
        struct {
            nd_neighbor_solicit head{};
            std::array<unsigned char, 2> option{ND_OPT_SOURCE_LINKADDR, 1};
            mac_address mac{};
        } packet;
        static_assert(sizeof packet == sizeof(nd_neighbor_solicit) + 8);
        packet.head.nd_ns_type = ND_NEIGHBOR_SOLICIT;
        packet.head.nd_ns_target = in6_of(target);
        packet.mac = mac_;
        send({reinterpret_cast<const unsigned char *>(&packet), sizeof packet}, solicited_node(target));
    }

    void echo(std::uint32_t packet_bytes) const
    {
        std::vector<unsigned char> packet(packet_bytes - 40);
        icmp6_hdr head{};
        head.icmp6_type = ICMP6_ECHO_REQUEST;
        head.icmp6_id = id();
        std::memcpy(packet.data(), &head, sizeof head);
        send(packet, in6_of(found_.way.far));
    }

    static std::uint16_t id() { return htons(static_cast<std::uint16_t>(::getpid())); }

    void take(std::span<const unsigned char> packet, const sockaddr_in6 &from)
    {
        icmp6_hdr head{};
        if (packet.size() < sizeof head)
            return;
        std::memcpy(&head, packet.data(), sizeof head);
        if (head.icmp6_type == ND_NEIGHBOR_ADVERT)
            take_neighbour(packet);
        else if (head.icmp6_type == ICMP6_ECHO_REQUEST && head.icmp6_id == service::router_call::id)
            found_.calls_routers = true;
        else if (head.icmp6_type == ICMP6_ECHO_REPLY && head.icmp6_id == id() &&
                 service::is_same(ip_of(from.sin6_addr), found_.way.far)) {
            found_.echoes = true;
            found_.carries = std::max(found_.carries, static_cast<std::uint32_t>(packet.size()) + 40);
        }
    }

    void take_neighbour(std::span<const unsigned char> packet)
    {
        nd_neighbor_advert head{};
        constexpr std::size_t option_bytes = 8;
        if (packet.size() < sizeof head + option_bytes || packet[sizeof head] != ND_OPT_TARGET_LINKADDR)
            return;
        std::memcpy(&head, packet.data(), sizeof head);
        mac_address mac{};
        std::copy_n(packet.begin() + sizeof head + 2, mac.size(), mac.begin());
        const mrc_ip target = ip_of(head.nd_na_target);
        if (mac == mac_)
            return;
        if (service::is_same(target, found_.way.own))
            found_.own_macs.insert(mac);
        for (const plane_way &each : all_)
            if (service::is_same(target, each.far) && each.plane == found_.way.plane)
                found_.far_macs.insert(mac);
            else if (service::is_same(target, each.far))
                found_.leads_to = each.plane;
    }

    std::span<const plane_way> all_;
    int ifindex_;
    kernel::unique_fd icmp_;
    kernel::unique_fd udp_;
    mac_address mac_;
    peer_plane_evidence found_;
};

} // namespace

std::vector<peer_plane_evidence> ask_links(std::span<const plane_way> ways, std::chrono::milliseconds patience)
{
    std::vector<link_inquiry> links;
    links.reserve(ways.size());
    std::vector<pollfd> awaited;
    for (const plane_way &way : ways) {
        links.emplace_back(way, ways);
        awaited.push_back({.fd = links.back().fd(), .events = POLLIN, .revents = 0});
    }
    const auto end = clock::now() + patience;
    auto next = clock::now();
    while (clock::now() < end) {
        if (clock::now() >= next) {
            next += between_rounds;
            for (link_inquiry &each : links)
                each.ask();
        }
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::min(next, end) - clock::now()).count();
        ::poll(awaited.data(), awaited.size(), static_cast<int>(std::max<decltype(left)>(left, 0)));
        for (link_inquiry &each : links)
            each.listen();
    }
    std::vector<peer_plane_evidence> found;
    found.reserve(links.size());
    for (const link_inquiry &each : links)
        found.push_back(each.found());
    return found;
}

} // namespace mrc::doctor
