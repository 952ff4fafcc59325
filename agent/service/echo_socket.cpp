// SPDX-License-Identifier: Apache-2.0
#include "service/echo_socket.h"

#include <netinet/icmp6.h>
#include <sys/socket.h>

namespace mrc::service
{

echo_socket::echo_socket() : fd_{::socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6)}
{
    icmp6_filter answers{};
    ICMP6_FILTER_SETBLOCKALL(&answers);
    ICMP6_FILTER_SETPASS(ICMP6_ECHO_REPLY, &answers);
    if (fd_ && ::setsockopt(fd_.get(), IPPROTO_ICMPV6, ICMP6_FILTER, &answers, sizeof answers) != 0)
        fd_.reset();
}

void echo_socket::send(const sockaddr_in6 &to, std::uint16_t id) const
{
    icmp6_hdr echo{}; // the kernel writes the checksum
    echo.icmp6_type = ICMP6_ECHO_REQUEST;
    echo.icmp6_id = id;
    (void)::sendto(fd_.get(), &echo, sizeof echo, 0, reinterpret_cast<const sockaddr *>(&to), sizeof to);
}

void echo_socket::receive(const std::function<void(const sockaddr_in6 &from, std::uint16_t id)> &handler) const
{
    for (;;) {
        icmp6_hdr echo{};
        sockaddr_in6 from{};
        socklen_t from_bytes = sizeof from;
        const auto received =
            ::recvfrom(fd_.get(), &echo, sizeof echo, 0, reinterpret_cast<sockaddr *>(&from), &from_bytes);
        if (received < 0)
            return;
        if (received == sizeof echo)
            handler(from, echo.icmp6_id);
    }
}

} // namespace mrc::service
