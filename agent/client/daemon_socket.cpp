// SPDX-License-Identifier: Apache-2.0
#include "client/daemon_socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "session/fd_passing.h"

namespace mrc::client
{

namespace
{

using clock = std::chrono::steady_clock;

std::optional<sockaddr_un> address_of(const daemon_instance &where)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (where.socket.size() >= sizeof(address.sun_path))
        return std::nullopt;
    std::memcpy(address.sun_path, where.socket.c_str(), where.socket.size());
    return address;
}

std::unexpected<session_error> unreachable(const daemon_instance &where, int error)
{
    if (error == EAGAIN) // of connect(): its queue is full, as nobody accepts
        return failure("mrcd does not answer at '" + where.socket + "'", ETIMEDOUT);
    return failure("cannot reach mrcd at '" + where.socket + "'", error);
}

result<kernel::unique_fd> connected(const daemon_instance &where, int more_flags, std::chrono::milliseconds patience)
{
    const auto address = address_of(where);
    if (!address)
        return failure("socket path '" + where.socket + "'", ENAMETOOLONG);
    kernel::unique_fd socket{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | more_flags, 0)};
    if (!socket)
        return unreachable(where, errno);
    set_patience(socket, patience);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr *>(&*address), sizeof(*address)) != 0)
        return unreachable(where, errno);
    return socket;
}

result<host_description> answer_on(const kernel::unique_fd &socket)
{
    session::session_reply reply;
    auto received = session::receive_packet(socket.get(), &reply, sizeof(reply), {});
    if (!received && errno == ECONNRESET) // told once, before what the daemon said last
        received = session::receive_packet(socket.get(), &reply, sizeof(reply), {});
    if (!received || received->bytes != sizeof(reply))
        return failure("mrcd closed the connection", received ? ECONNRESET : errno);
    reply.text[sizeof(reply.text) - 1] = '\0';
    if (reply.error != 0)
        return std::unexpected{session_error{reply.error, reply.text}};
    return description_of(reply.host);
}

} // namespace

host_description description_of(const session::host_reply &host)
{
    host_description described;
    described.instance = host.instance;
    described.addresses.push_back(host.address);
    if (std::ranges::any_of(host.address4.bytes, [](std::uint8_t byte) { return byte != 0; }))
        described.addresses.push_back(host.address4);
    described.payload_bytes = host.payload_bytes;
    for (std::uint32_t plane = 0; plane < std::min<std::uint32_t>(host.planes, session::max_planes); ++plane) {
        const session::port_reply &port = host.ports[plane];
        described.ports.push_back({.up = port.up != 0,
                                   .enabled = port.enabled != 0,
                                   .mtu = port.mtu,
                                   .bits_per_second = std::uint64_t{port.gbps} * 1'000'000'000});
    }
    described.guid = host.guid;
    described.max_qps = host.max_qps;
    described.max_regions = host.max_regions;
    described.max_region_bytes = host.max_bytes;
    described.max_cqs = host.max_cqs;
    described.max_cq_entries = host.max_cq_entries;
    described.max_work_requests = host.max_requests;
    described.max_mpr = static_cast<std::uint8_t>(host.max_mpr);
    described.max_wimm = static_cast<std::uint16_t>(host.max_wimm);
    return described;
}

std::unexpected<session_error> failure(const std::string &what, int error)
{
    return std::unexpected{session_error{error, what + ": " + std::strerror(error)}};
}

std::unexpected<session_error> failure(const std::string &what)
{
    return failure(what, errno);
}

void set_patience(const kernel::unique_fd &socket, std::chrono::milliseconds patience)
{
    const timeval limit{.tv_sec = patience.count() / 1000, .tv_usec = patience.count() % 1000 * 1000};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

result<kernel::unique_fd> connect_to(const daemon_instance &where, std::chrono::milliseconds patience)
{
    return connected(where, 0, patience);
}

std::vector<result<host_description>> describe_instances(std::span<const daemon_instance> all)
{
    return describe_instances(all, answer_patience);
}

std::vector<result<host_description>> describe_instances(std::span<const daemon_instance> all,
                                                         std::chrono::milliseconds patience)
{
    std::vector<result<host_description>> answers;
    std::vector<kernel::unique_fd> sockets(all.size());
    std::vector<pollfd> waiting(all.size(), pollfd{.fd = -1, .events = POLLIN, .revents = 0});
    session::session_request request;
    request.kind = session::request_kind::describe;
    for (std::size_t i = 0; i < all.size(); ++i) {
        answers.emplace_back(failure("mrcd does not answer at '" + all[i].socket + "'", ETIMEDOUT));
        auto socket = connected(all[i], SOCK_NONBLOCK, {});
        if (!socket) {
            answers[i] = std::unexpected{socket.error()};
            continue;
        }
        sockets[i] = std::move(*socket);
        // What a daemon said that turned this one away comes all the same.
        (void)session::send_packet(sockets[i].get(), &request, sizeof(request), {});
        waiting[i].fd = sockets[i].get();
    }
    const auto end = clock::now() + patience;
    while (std::ranges::any_of(waiting, [](const pollfd &one) { return one.fd >= 0; })) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - clock::now());
        const int ready =
            ::poll(waiting.data(), waiting.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
        if (ready == 0 || (ready < 0 && errno != EINTR))
            break;
        for (std::size_t i = 0; ready > 0 && i < waiting.size(); ++i) {
            if (waiting[i].fd < 0 || waiting[i].revents == 0)
                continue;
            answers[i] = answer_on(sockets[i]);
            waiting[i].fd = -1;
        }
    }
    return answers;
}

} // namespace mrc::client
