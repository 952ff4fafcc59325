// SPDX-License-Identifier: Apache-2.0
#include "service/control/peer_process.h"

#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <sys/syscall.h>

namespace mrc::service::control
{

namespace
{

constexpr int peer_pidfd_option = 77; // SO_PEERPIDFD; Debian 12's headers are 6.1

} // namespace

peer_process process_of_peer(int socket)
{
    int fd = -1;
    socklen_t size = sizeof(fd);
    if (::getsockopt(socket, SOL_SOCKET, peer_pidfd_option, &fd, &size) == 0)
        return {.pidfd = kernel::unique_fd{fd}, .is_certain = true};
    ucred who{};
    size = sizeof(who);
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 || who.pid <= 0)
        return {};
    kernel::unique_fd pidfd{static_cast<int>(::syscall(SYS_pidfd_open, who.pid, 0U))};
    const bool has_gone = !pidfd && errno == ESRCH;
    return {.pidfd = std::move(pidfd), .has_gone = has_gone};
}

} // namespace mrc::service::control
