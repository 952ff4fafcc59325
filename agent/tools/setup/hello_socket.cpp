// SPDX-License-Identifier: Apache-2.0
#include "tools/setup/hello_socket.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "kernel/probes/device.h"
#include "tools/setup/hello.h"

namespace mrc::setup
{

namespace
{

constexpr int hops = 255;

sockaddr_in6 group_on(int ifindex)
{
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(hello_udp_port);
    to.sin6_scope_id = static_cast<std::uint32_t>(ifindex);
    ::inet_pton(AF_INET6, hello_group, &to.sin6_addr);
    return to;
}

template <typename Value>
bool set(int fd, int level, int name, const Value &value)
{
    return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

bool is_of_link(msghdr &message, const sockaddr_in6 &from)
{
    for (cmsghdr *each = CMSG_FIRSTHDR(&message); each != nullptr; each = CMSG_NXTHDR(&message, each))
        if (each->cmsg_level == IPPROTO_IPV6 && each->cmsg_type == IPV6_HOPLIMIT) {
            int limit = 0;
            std::memcpy(&limit, CMSG_DATA(each), sizeof limit);
            return limit == hops && IN6_IS_ADDR_LINKLOCAL(&from.sin6_addr) != 0;
        }
    return false;
}

} // namespace

hello_socket::hello_socket(const std::string &device)
    : socket_{::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)},
      ifindex_{kernel::probes::ifindex_of(device)}
{
    const ipv6_mreq member{.ipv6mr_multiaddr = group_on(ifindex_).sin6_addr,
                           .ipv6mr_interface = static_cast<unsigned>(ifindex_)};
    sockaddr_in6 own{};
    own.sin6_family = AF_INET6;
    own.sin6_port = htons(hello_udp_port);
    const int fd = socket_.get();
    if (!socket_ ||
        ::setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device.data(), static_cast<socklen_t>(device.size())) != 0 ||
        !set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) || !set(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, hops) ||
        !set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, ifindex_) || !set(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0) ||
        !set(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0) || !set(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1) ||
        ::bind(fd, reinterpret_cast<const sockaddr *>(&own), sizeof own) != 0 ||
        !set(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, member))
        throw std::system_error{errno, std::generic_category(),
                                "cannot listen for hellos on " + device + ", UDP port " +
                                    std::to_string(hello_udp_port)};
}

std::error_code hello_socket::send(std::span<const std::byte> datagram) const
{
    const sockaddr_in6 to = group_on(ifindex_);
    if (::sendto(socket_.get(), datagram.data(), datagram.size(), 0, reinterpret_cast<const sockaddr *>(&to),
                 sizeof to) < 0)
        return {errno, std::generic_category()};
    return {};
}

void hello_socket::receive(std::size_t most, const std::function<void(std::span<const std::byte>)> &handler) const
{
    std::array<std::byte, most_hello_bytes + 1> room{}; // what is longer shows by the last byte
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
    for (; most > 0; --most) {
        sockaddr_in6 from{};
        iovec into{.iov_base = room.data(), .iov_len = room.size()};
        msghdr message{};
        message.msg_name = &from;
        message.msg_namelen = sizeof from;
        message.msg_iov = &into;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        const ssize_t got = ::recvmsg(socket_.get(), &message, 0);
        if (got < 0)
            return;
        if (is_of_link(message, from))
            handler(std::span{room}.first(static_cast<std::size_t>(got)));
    }
}

} // namespace mrc::setup
