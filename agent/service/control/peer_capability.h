// SPDX-License-Identifier: Apache-2.0
// May the process at the other end of a socket ask for what the controller API does?
#pragma once

#include <cstdint>
#include <string>

#include "session/values.h"

namespace mrc::service::control
{

// EPERM unless the process that connected `socket` (UNIX domain) has CAP_NET_ADMIN in its effective set now, and shares
// our user namespace: a capability inside a container's own is none over this host's network.
//
// It trusts the kernel's record of who connected (SO_PEERCRED, and SO_PEERPIDFD from Linux 6.5 on) and /proc, which
// must be that of the daemon's PID namespace. It does not trust the number: a PID may name another process by the time
// that /proc is read, so a pidfd is opened first and found still alive afterwards; the process read was then the one
// held. Without SO_PEERPIDFD the process could have died, and its number be taken, between connect and the opening: the
// process's start time, read here, must not be younger than the session (`connected_at`, CLOCK_BOOTTIME nanoseconds, 0:
// not checked).
//
// The user namespace is told by its map of user ids: another with the very same map takes CAP_SETUID in ours to make.
//
// The process is who connected. A socket handed to another process, or kept across an exec, still speaks for it: the
// check is made anew for every request, so what counts is what that process may do at that moment.
[[nodiscard]] session::outcome<> check_net_admin(int socket, std::uint64_t connected_at);

// "CapEff" of the text of /proc/<pid>/status, and whether CAP_NET_ADMIN is in it.
[[nodiscard]] bool has_net_admin(const std::string &status);
// Field 22 of the text of /proc/<pid>/stat, clock ticks since boot; 0 when the text is not that.
[[nodiscard]] std::uint64_t start_ticks(const std::string &stat);

} // namespace mrc::service::control
