// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/channel.h"

#include <array>
#include <cstring>
#include <memory>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "tools/hosts/lookup.h"
#include "tools/mrc-perf/error.h"

namespace mrc::perf
{

namespace
{

constexpr std::array<std::uint8_t, 4> magic{'M', 'R', 'C', 'P'};
constexpr std::size_t header_bytes = 12;
constexpr std::size_t longest_body = 4 << 20; // a report with its samples
constexpr int peer_silence_s = 30;            // until a peer that vanished without closing is given up

using steady = std::chrono::steady_clock;

void set_option(int fd, int level, int name, int value)
{
    ::setsockopt(fd, level, name, &value, sizeof(value)); // tuning: a kernel without it works as well
}

void set_up(int fd)
{
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, peer_silence_s / 3);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, peer_silence_s / 3);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 2);
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, peer_silence_s * 1000);
}

bool wait_for(int fd, short events, steady::time_point deadline)
{
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady::now()).count();
    pollfd state{.fd = fd, .events = events, .revents = 0};
    return left > 0 && ::poll(&state, 1, static_cast<int>(left)) == 1;
}

std::uint32_t read_big_endian(const std::uint8_t *at, std::size_t bytes)
{
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
        value = value << 8 | at[i];
    return value;
}

void append_big_endian(std::vector<std::uint8_t> &to, std::size_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; --i)
        to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

std::string name_of(const sockaddr *address, socklen_t length)
{
    std::array<char, NI_MAXHOST> host{};
    if (::getnameinfo(address, length, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0)
        return "?";
    return host.data();
}

// One attempt; 0 or an errno.
int try_connect(int fd, const addrinfo &to, steady::time_point deadline)
{
    if (::connect(fd, to.ai_addr, to.ai_addrlen) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno;
    if (!wait_for(fd, POLLOUT, deadline))
        return ETIMEDOUT;
    int error = 0;
    socklen_t length = sizeof(error);
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    return error;
}

} // namespace

channel::channel(kernel::unique_fd socket, std::string peer) : socket_{std::move(socket)}, peer_{std::move(peer)}
{
    set_up(socket_.get());
}

channel channel::connect(const std::string &name, std::uint16_t port)
{
    // A peer's name is known to mrcd, and to no resolver unless somebody writes it into a hosts file.
    const auto known = tools::address_of_name(name, tools::instances_meant({}));
    if (!known)
        throw perf_error{"HOST: " + known.error()};
    const std::string host = known->value_or(name);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo *found = nullptr;
    if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0)
        throw perf_error{
            fmt::format("HOST is '{}': {}; allowed: an address or a name that resolves", host, ::gai_strerror(error))};
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{found, &::freeaddrinfo};
    const auto deadline = steady::now() + answer_limit;
    int error = 0;
    for (const addrinfo *to = found; to != nullptr; to = to->ai_next) {
        kernel::unique_fd fd{::socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
        error = fd ? try_connect(fd.get(), *to, deadline) : errno;
        if (error == 0)
            return channel{std::move(fd), name_of(to->ai_addr, to->ai_addrlen)};
    }
    throw perf_error{
        fmt::format("cannot reach a mrc-perf server at {}, TCP port {}: {}", host, port, std::strerror(error))};
}

void channel::wait_for_ever()
{
    set_option(fd(), SOL_SOCKET, SO_KEEPALIVE, 0);
    set_option(fd(), IPPROTO_TCP, TCP_USER_TIMEOUT, 0);
}

void channel::send(message_kind kind, const boost::json::object &body)
{
    const std::string text = boost::json::serialize(body);
    std::vector<std::uint8_t> frame{magic.begin(), magic.end()};
    append_big_endian(frame, channel_version, 2);
    append_big_endian(frame, static_cast<std::size_t>(kind), 2);
    append_big_endian(frame, text.size(), 4);
    frame.insert(frame.end(), text.begin(), text.end());
    const auto deadline = steady::now() + answer_limit;
    for (std::size_t sent = 0; sent < frame.size();) {
        const ssize_t now = ::send(fd(), frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
        if (now >= 0)
            sent += static_cast<std::size_t>(now);
        else if (errno != EAGAIN && errno != EINTR)
            throw perf_error{fmt::format("the far end ({}) is gone: {}", peer_, std::strerror(errno)), "far_end"};
        else if (!wait_for(fd(), POLLOUT, deadline))
            throw perf_error{fmt::format("the far end ({}) takes nothing more over TCP", peer_), "far_end"};
    }
}

bool channel::try_send(message_kind kind, const boost::json::object &body)
{
    try {
        send(kind, body);
    } catch (const perf_error &) {
        return false;
    }
    return true;
}

// False when nothing new is there.
bool channel::fill()
{
    std::array<std::uint8_t, 16384> chunk;
    const ssize_t got = ::recv(fd(), chunk.data(), chunk.size(), 0);
    if (got > 0) {
        received_.insert(received_.end(), chunk.begin(), chunk.begin() + got);
        return true;
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    throw perf_error{fmt::format("the far end ({}) {}", peer_,
                                 got == 0 ? std::string{"has closed the connection"}
                                          : std::string{"is gone: "} + std::strerror(errno)),
                     "far_end"};
}

std::optional<message> channel::take_frame()
{
    const auto &in = received_;
    const std::size_t known = std::min(in.size(), magic.size());
    if (!std::equal(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(known), magic.begin()))
        throw perf_error{fmt::format("{} does not speak mrc-perf's protocol", peer_), "far_end"};
    if (in.size() < header_bytes)
        return std::nullopt;
    if (const auto version = read_big_endian(&in[4], 2); version != channel_version)
        throw perf_error{fmt::format("{} runs another mrc-perf: its protocol is version {}, this one's {}", peer_,
                                     version, channel_version),
                         "far_end"};
    const std::size_t length = read_big_endian(&in[8], 4);
    if (length > longest_body)
        throw perf_error{fmt::format("{} announces a message of {} bytes; allowed: {}", peer_, length, longest_body),
                         "far_end"};
    if (in.size() < header_bytes + length)
        return std::nullopt;
    message result{static_cast<message_kind>(read_big_endian(&in[6], 2)), {}};
    boost::json::error_code error;
    const auto value = boost::json::parse({reinterpret_cast<const char *>(in.data()) + header_bytes, length}, error);
    if (error || !value.is_object())
        throw perf_error{fmt::format("{} sends a message that is no JSON object", peer_), "far_end"};
    result.body = value.get_object();
    received_.erase(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(header_bytes + length));
    return result;
}

std::optional<message> channel::receive()
{
    auto frame = take_frame();
    if (!frame && fill())
        frame = take_frame();
    if (frame && frame->kind == message_kind::error)
        throw perf_error{fmt::format("the far end ({}) reports: {}", peer_, text_member(frame->body, "text")),
                         "far_end"};
    return frame;
}

message channel::expect(message_kind kind, std::chrono::milliseconds limit)
{
    const auto deadline = steady::now() + limit;
    while (true) {
        if (auto next = receive()) {
            if (next->kind == kind)
                return std::move(*next);
            throw perf_error{fmt::format("{} sends message {} instead of {}", peer_, static_cast<int>(next->kind),
                                         static_cast<int>(kind)),
                             "far_end"};
        }
        if (!wait_for(fd(), POLLIN, deadline))
            throw perf_error{fmt::format("no answer from {} for {} s", peer_,
                                         std::chrono::duration_cast<std::chrono::seconds>(limit).count()),
                             "far_end"};
    }
}

listener::listener(std::uint16_t port)
{
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    socket_.reset(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    set_option(fd(), SOL_SOCKET, SO_REUSEADDR, 1);
    set_option(fd(), IPPROTO_IPV6, IPV6_V6ONLY, 0); // IPv4 clients arrive as ::ffff:a.b.c.d
    socklen_t length = sizeof(address);
    if (!socket_ || ::bind(fd(), reinterpret_cast<sockaddr *>(&address), length) != 0 || ::listen(fd(), 16) != 0 ||
        ::getsockname(fd(), reinterpret_cast<sockaddr *>(&address), &length) != 0)
        throw perf_error{fmt::format("cannot listen on TCP port {}: {}", port, std::strerror(errno))};
    port_ = ntohs(address.sin6_port);
}

std::optional<channel> listener::accept()
{
    sockaddr_in6 address{};
    socklen_t length = sizeof(address);
    kernel::unique_fd fd{
        ::accept4(socket_.get(), reinterpret_cast<sockaddr *>(&address), &length, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (!fd)
        return std::nullopt;
    return channel{std::move(fd), name_of(reinterpret_cast<sockaddr *>(&address), length)};
}

std::uint64_t member(const boost::json::object &object, const char *name, std::uint64_t low, std::uint64_t high)
{
    boost::json::error_code error;
    const auto *found = object.if_contains(name);
    const auto value = found != nullptr ? found->to_number<std::uint64_t>(error) : 0;
    if (found == nullptr || error || value < low || value > high)
        throw perf_error{fmt::format("the far end's message lacks a good '{}'; allowed: {} to {}", name, low, high),
                         "far_end"};
    return value;
}

bool flag_member(const boost::json::object &object, const char *name)
{
    const auto *found = object.if_contains(name);
    if (found == nullptr || !found->is_bool())
        throw perf_error{fmt::format("the far end's message lacks '{}'", name), "far_end"};
    return found->get_bool();
}

std::string text_member(const boost::json::object &object, const char *name)
{
    const auto *found = object.if_contains(name);
    if (found == nullptr || !found->is_string())
        throw perf_error{fmt::format("the far end's message lacks '{}'", name), "far_end"};
    const auto &text = found->get_string();
    return {text.data(), text.size()};
}

} // namespace mrc::perf
