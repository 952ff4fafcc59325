// SPDX-License-Identifier: Apache-2.0
// The process at the other end of a client's socket.
#pragma once

#include <string>

#include <sys/types.h>

namespace mrc::service
{

// Who connected a socket of the UNIX domain; 0: a process that this PID namespace does not have.
[[nodiscard]] pid_t process_behind(int socket);

// Its name now, from /proc, as printable_command() has it; empty when there is none to read.
[[nodiscard]] std::string command_of(pid_t process);

// Of the text of /proc/PID/comm. A process gives itself its name, and an operator's terminal shows it: every byte that
// is no printable ASCII becomes '?'.
[[nodiscard]] std::string printable_command(std::string comm);

} // namespace mrc::service
