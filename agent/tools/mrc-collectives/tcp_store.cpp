// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-collectives/tcp_store.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "tools/mrc-collectives/rendezvous_server.h"
#include "tools/mrc-collectives/resolve.h"

namespace mrc::collectives
{

namespace
{

constexpr std::chrono::milliseconds between_tries{20};

// Rank 0 may start last, on another host: nothing tells when it listens.
kernel::unique_fd connected(const std::string &host, std::uint16_t port, std::chrono::seconds timeout)
{
    const address_list found = resolve(host, port);
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    const timeval patience{.tv_sec = timeout.count(), .tv_usec = 0};
    for (;;) {
        kernel::unique_fd socket{::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        const int yes = 1;
        ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)); // a set has no answer
        for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO})                      // of connect(), too
            ::setsockopt(socket.get(), SOL_SOCKET, option, &patience, sizeof(patience));
        if (::connect(socket.get(), found->ai_addr, found->ai_addrlen) == 0)
            return socket;
        if (std::chrono::steady_clock::now() > deadline)
            throw std::runtime_error{fmt::format("rank 0 does not answer at {} port {} within {} s: {}", host, port,
                                                 timeout.count(), std::strerror(errno))};
        std::this_thread::sleep_for(between_tries);
    }
}

} // namespace

tcp_store::tcp_store(std::string host, std::uint16_t port, std::chrono::seconds timeout)
    : host_{std::move(host)}, port_{port}, timeout_{timeout}, socket_{connected(host_, port_, timeout_)}
{
}

void tcp_store::request(std::uint32_t kind, const std::string &key, const std::vector<char> &value)
{
    const request_head head{htonl(kind), htonl(static_cast<std::uint32_t>(key.size())),
                            htonl(static_cast<std::uint32_t>(value.size()))};
    if (!send_together(socket_.get(), {{reinterpret_cast<const char *>(head.data()), sizeof(head)}, key, value}))
        throw std::runtime_error{fmt::format("rank 0 at {} port {} has gone: {}", host_, port_, std::strerror(errno))};
}

void tcp_store::set(const std::string &key, const std::vector<char> &value)
{
    request(static_cast<std::uint32_t>(store_request::set), key, value);
}

std::vector<char> tcp_store::get(const std::string &key)
{
    request(static_cast<std::uint32_t>(store_request::get), key, {});
    std::uint32_t bytes = 0;
    errno = 0;
    if (!receive_all(socket_.get(), &bytes, sizeof(bytes))) {
        if (errno == EAGAIN)
            throw std::runtime_error{
                fmt::format("{} has not come to {} port {} within {} s", key, host_, port_, timeout_.count())};
        throw std::runtime_error{fmt::format("rank 0 at {} port {} has gone", host_, port_)};
    }
    std::vector<char> value(ntohl(bytes));
    if (!receive_all(socket_.get(), value.data(), value.size()))
        throw std::runtime_error{fmt::format("rank 0 at {} port {} has gone", host_, port_)};
    return value;
}

void tcp_store::wait(const std::vector<std::string> &keys)
{
    for (const std::string &key : keys)
        static_cast<void>(get(key));
}

void tcp_store::wait(const std::vector<std::string> &keys, const std::chrono::milliseconds & /*timeout*/)
{
    wait(keys); // the context's time-out is the store's
}

} // namespace mrc::collectives
