// SPDX-License-Identifier: Apache-2.0
// The user that mrcd runs as once it has started.
#pragma once

#include <expected>
#include <string>

#include "kernel/privileges.h"
#include "service/config/config.h"

namespace mrc::service
{

struct daemon_user {
    kernel::user_identity who;
    bool is_lacking = false; // no user was named, and this system has no mrc: whoever started it
};

// [daemon] user; "auto" is the user mrc where the system has it. A daemon that is not started by root stays what it is,
// unless a user is named. The error says what is wrong with the option.
[[nodiscard]] std::expected<daemon_user, std::string> user_for(const daemon_config &config);

// Gives up what the daemon needed to start. What is done from here on needs two capabilities: the kernel's neighbour
// table is written, when a gateway is to be found or confirmed, with CAP_NET_ADMIN only (ports/link_monitor.h), and a
// device that a port has again gets new AF_XDP sockets with CAP_NET_RAW only (ports/port_sockets.h). Live frames, maps,
// links of programs that are loaded, and sockets that are open, need none. Throws kernel::startup_error. The log says
// what has become of the process, and whether it can read its configuration again.
void become(const daemon_user &user, const daemon_config &config);

} // namespace mrc::service
