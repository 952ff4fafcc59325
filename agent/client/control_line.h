// SPDX-License-Identifier: Apache-2.0
// A connection for one batch of requests to other hosts, which is answered when they have: on the session's own socket
// all its other requests would wait meanwhile.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "client/daemon_socket.h"

namespace mrc::client
{

class control_line
{
public:
    // Answers are awaited for so long.
    [[nodiscard]] static result<control_line> open(const daemon_instance &where, std::chrono::milliseconds patience);

    // A request of control_protocol.h with its array, and the reply with its own.
    [[nodiscard]] result<std::vector<std::byte>> control(std::span<const std::byte> request) const;

private:
    explicit control_line(kernel::unique_fd socket) : socket_{std::move(socket)} {}
    kernel::unique_fd socket_;
};

// One request, one reply, on any socket of a daemon.
[[nodiscard]] result<std::vector<std::byte>> exchange_control(int socket, std::span<const std::byte> request);

} // namespace mrc::client
