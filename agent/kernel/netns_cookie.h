// SPDX-License-Identifier: Apache-2.0
// The number by which BPF programs know a network namespace.
#pragma once

#include <cstdint>
#include <optional>

#include <sys/socket.h>

#include "kernel/unique_fd.h"

namespace mrc::kernel
{

// Of the calling thread's, until the next boot. nullopt with errno set where the kernel tells none (before Linux 5.14).
[[nodiscard]] inline std::optional<std::uint64_t> own_netns_cookie()
{
    const unique_fd socket{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    std::uint64_t cookie = 0;
    socklen_t size = sizeof(cookie);
    if (!socket || ::getsockopt(socket.get(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) != 0)
        return std::nullopt;
    return cookie;
}

} // namespace mrc::kernel
