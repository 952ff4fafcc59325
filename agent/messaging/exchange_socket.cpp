// SPDX-License-Identifier: Apache-2.0
#include "messaging/exchange_socket.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace mrc::messaging
{

namespace
{

// A host that is gone while messages are exchanged is given up after 34 s, as one that falls silent later.
constexpr int idle_s = 10;
constexpr int interval_s = 4;
constexpr int probes = 6;

void set_option(int fd, int level, int name, int value)
{
    (void)::setsockopt(fd, level, name, &value, sizeof(value));
}

bool later(int error)
{
    return error == EAGAIN || error == EINTR;
}

} // namespace

void exchange_socket::keep_alive() const
{
    if (!fd_)
        return;
    set_option(fd_.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd_.get(), IPPROTO_TCP, TCP_KEEPIDLE, idle_s);
    set_option(fd_.get(), IPPROTO_TCP, TCP_KEEPINTVL, interval_s);
    set_option(fd_.get(), IPPROTO_TCP, TCP_KEEPCNT, probes);
    set_option(fd_.get(), IPPROTO_TCP, TCP_NODELAY, 1);
}

std::optional<socket_address> exchange_socket::own_address() const
{
    sockaddr_storage stored{};
    socklen_t length = sizeof(stored);
    auto *any = reinterpret_cast<sockaddr *>(&stored);
    return ::getsockname(fd_.get(), any, &length) == 0 ? socket_address::from(any) : std::nullopt;
}

bool exchange_socket::connect(const socket_address &peer)
{
    if (!std::exchange(bound_, false))
        fd_ = kernel::unique_fd{::socket(peer.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    keep_alive();
    sockaddr_storage address{};
    const socklen_t length = peer.store(address);
    if (fd_ &&
        (::connect(fd_.get(), reinterpret_cast<const sockaddr *>(&address), length) == 0 || errno == EINPROGRESS))
        return true;
    (void)failed_by(errno, "cannot connect by TCP");
    return false;
}

exchange_step exchange_socket::finish_connect()
{
    pollfd ready{.fd = fd_.get(), .events = POLLOUT, .revents = 0};
    if (::poll(&ready, 1, 0) <= 0)
        return exchange_step::waits;
    int error = 0;
    socklen_t length = sizeof(error);
    if (::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        error = errno;
    return error == 0 ? exchange_step::done : failed_by(error, "cannot connect by TCP");
}

exchange_step exchange_socket::send()
{
    while (sent_ < sending_.size()) {
        const ssize_t count = ::send(fd_.get(), sending_.data() + sent_, sending_.size() - sent_, MSG_NOSIGNAL);
        if (count < 0)
            return later(errno) ? exchange_step::waits : failed_by(errno, "TCP");
        sent_ += static_cast<std::size_t>(count);
    }
    return exchange_step::done;
}

exchange_step exchange_socket::receive(std::size_t bytes)
{
    receiving_.resize(bytes);
    while (received_ < receiving_.size()) {
        const ssize_t count = ::recv(fd_.get(), receiving_.data() + received_, receiving_.size() - received_, 0);
        if (count < 0)
            return later(errno) ? exchange_step::waits : failed_by(errno, "TCP");
        if (count == 0) {
            why_ = "the far end gave up while connecting";
            return exchange_step::failed;
        }
        received_ += static_cast<std::size_t>(count);
    }
    return exchange_step::done;
}

bool exchange_socket::ended()
{
    if (lost_)
        return false;
    std::byte byte{};
    const ssize_t count = ::recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (count >= 0)
        return count == 0;
    lost_ = !later(errno) && errno != ECONNRESET;
    return errno == ECONNRESET;
}

void exchange_socket::established() const
{
    set_option(fd_.get(), SOL_SOCKET, SO_KEEPALIVE, 0);
}

void exchange_socket::end() const
{
    if (fd_)
        (void)::shutdown(fd_.get(), SHUT_RDWR);
}

exchange_step exchange_socket::failed_by(int error, const char *doing)
{
    why_ = std::string{doing} + ": " + std::strerror(error);
    return exchange_step::failed;
}

} // namespace mrc::messaging
