// SPDX-License-Identifier: Apache-2.0
// Packets with file descriptors over a UNIX socket (SCM_RIGHTS).
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "datapath/unique_fd.h"

namespace mrc::service
{

struct received_packet {
    std::size_t bytes = 0; // 0: the other side has closed
    std::size_t fds = 0;
    bool bytes_cut = false;
    bool fds_lost = false; // too many, or more than this process may have
};

// False with errno set on failure. Descriptors stay with the caller.
bool send_packet(int socket, const void *data, std::size_t bytes, std::span<const int> fds);

// Fills `fds` from the front; descriptors beyond its size are closed. nullopt with errno set on failure.
std::optional<received_packet> receive_packet(int socket, void *data, std::size_t bytes,
                                              std::span<datapath::unique_fd> fds);

} // namespace mrc::service
