// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-collectives/rendezvous_server.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include "tools/mrc-collectives/resolve.h"

namespace mrc::collectives
{

namespace
{

constexpr int backlog = 256;

kernel::unique_fd listening_at(const std::string &host, std::uint16_t port)
{
    const address_list found = resolve(host, port);
    kernel::unique_fd socket{::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const int yes = 1;
    if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        ::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(socket.get(), backlog) != 0)
        throw std::runtime_error{
            fmt::format("cannot listen at {} port {} for the other ranks: {}", host, port, std::strerror(errno))};
    return socket;
}

} // namespace

bool send_together(int fd, std::initializer_list<std::span<const char>> parts)
{
    std::vector<char> whole;
    for (const std::span<const char> part : parts)
        whole.insert(whole.end(), part.begin(), part.end());
    for (std::span<const char> left = whole; !left.empty();) {
        const ssize_t sent = ::send(fd, left.data(), left.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        left = left.subspan(static_cast<std::size_t>(sent));
    }
    return true;
}

bool receive_all(int fd, void *data, std::size_t bytes)
{
    auto *to = static_cast<char *>(data);
    while (bytes > 0) {
        const ssize_t got = ::recv(fd, to, bytes, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        bytes -= static_cast<std::size_t>(got);
    }
    return true;
}

rendezvous_server::rendezvous_server(const std::string &host, std::uint16_t port)
    : listening_{listening_at(host, port)}, accepting_{[this] { accept_clients(); }}
{
}

rendezvous_server::~rendezvous_server()
{
    {
        const std::scoped_lock lock{mutex_};
        ends_ = true;
        for (const kernel::unique_fd &client : clients_)
            ::shutdown(client.get(), SHUT_RDWR);
    }
    changed_.notify_all();
    ::shutdown(listening_.get(), SHUT_RDWR);
    accepting_.join();
    for (std::thread &each : serving_)
        each.join();
}

void rendezvous_server::accept_clients()
{
    for (;;) {
        kernel::unique_fd client{::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
        const std::scoped_lock lock{mutex_};
        if (ends_)
            return;
        if (!client)
            continue;
        const int fd = client.get();
        clients_.push_back(std::move(client)); // until the end: its thread has the number
        serving_.emplace_back([this, fd] { serve(fd); });
    }
}

void rendezvous_server::serve(int fd)
{
    request_head head{};
    while (receive_all(fd, head.data(), sizeof(head)) && answer(fd, head)) {
    }
    ::shutdown(fd, SHUT_RDWR);
}

bool rendezvous_server::answer(int fd, const request_head &head)
{
    const std::uint32_t key_bytes = ntohl(head[1]);
    const std::uint32_t value_bytes = ntohl(head[2]);
    if (key_bytes > longest_key || value_bytes > longest_value)
        return false;
    std::string key(key_bytes, '\0');
    std::vector<char> value(value_bytes);
    if (!receive_all(fd, key.data(), key.size()) || !receive_all(fd, value.data(), value.size()))
        return false;
    if (ntohl(head[0]) == static_cast<std::uint32_t>(store_request::set)) {
        const std::scoped_lock lock{mutex_};
        values_[key] = std::move(value);
        changed_.notify_all();
        return true;
    }
    if (!wait_for(key, value))
        return false;
    const std::uint32_t bytes = htonl(static_cast<std::uint32_t>(value.size()));
    return send_together(fd, {{reinterpret_cast<const char *>(&bytes), sizeof(bytes)}, value});
}

bool rendezvous_server::wait_for(const std::string &key, std::vector<char> &value)
{
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return ends_ || values_.contains(key); });
    if (ends_)
        return false;
    value = values_.at(key);
    return true;
}

} // namespace mrc::collectives
