// SPDX-License-Identifier: Apache-2.0
// Packets with file descriptors over a UNIX socket (SCM_RIGHTS).
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "kernel/unique_fd.h"

namespace mrc::session
{

// The kernel passes no more with one packet (SCM_MAX_FD of net/scm.h).
inline constexpr std::size_t most_passed_fds = 253;

struct received_packet {
    std::size_t bytes = 0; // 0: the other side has closed
    std::size_t fds = 0;
    bool bytes_cut = false;
    bool fds_lost = false; // more than this process may have
};

// False with errno set on failure. Descriptors stay with the caller.
bool send_packet(int socket, const void *data, std::size_t bytes, std::span<const int> fds);

// Fills `fds` from the front; descriptors beyond its size are closed here and now, which may take as long as the sender
// likes: who does not trust it has room for most_passed_fds. nullopt with errno set on failure.
std::optional<received_packet> receive_packet(int socket, void *data, std::size_t bytes,
                                              std::span<kernel::unique_fd> fds);

} // namespace mrc::session
