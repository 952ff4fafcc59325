// SPDX-License-Identifier: Apache-2.0
// The process that connected a socket of the UNIX domain, held by a pidfd: its number may name another one by now.
#pragma once

#include "kernel/unique_fd.h"

namespace mrc::service::control
{

struct peer_process {
    kernel::unique_fd pidfd; // readable once the process has gone; empty: it had gone, or cannot be seen from here
    // The kernel's own record of who connected (SO_PEERPIDFD, Linux 6.5). Without it the process may have gone, and its
    // number been taken, between connect() and now.
    bool is_certain = false;
    bool has_gone = false; // there is no process of its number any more
};

[[nodiscard]] peer_process process_of_peer(int socket);

} // namespace mrc::service::control
