// SPDX-License-Identifier: Apache-2.0
#include "client/control_line.h"

#include <cerrno>

#include "session/control_protocol.h"
#include "session/fd_passing.h"

namespace mrc::client
{

result<std::vector<std::byte>> exchange_control(int socket, std::span<const std::byte> request)
{
    if (!session::send_packet(socket, request.data(), request.size(), {}))
        return failure("cannot send to mrcd");
    std::vector<std::byte> reply(session::most_control_bytes);
    const auto received = session::receive_packet(socket, reply.data(), reply.size(), {});
    if (!received && (errno == EAGAIN || errno == EWOULDBLOCK))
        return failure("mrcd does not answer", ETIMEDOUT);
    if (!received || received->bytes == 0)
        return failure("mrcd closed the connection", received ? ECONNRESET : errno);
    reply.resize(received->bytes);
    return reply;
}

result<control_line> control_line::open(const daemon_instance &where, std::chrono::milliseconds patience)
{
    auto socket = connect_to(where, patience);
    if (!socket)
        return std::unexpected{socket.error()};
    return control_line{std::move(*socket)};
}

result<std::vector<std::byte>> control_line::control(std::span<const std::byte> request) const
{
    return exchange_control(socket_.get(), request);
}

} // namespace mrc::client
