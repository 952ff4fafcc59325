// SPDX-License-Identifier: Apache-2.0
// Before the daemon: a host none of whose ports is there yet, or whose ports have no address yet on a direct fabric.
//
// What a daemon is follows from its first port: how long packets are, which programs, clients and paths are told; how a
// port is used, which is tried by programs that are loaded with privileges which the daemon then gives up; zero copy,
// which all ports have or none. So it is made when a port has come, and takes in the others as they come
// (ports/port_watch.h). Until then clients are told what is awaited.
#pragma once

#include "service/config/config.h"

namespace mrc::service
{

enum class first_port_outcome : unsigned char {
    was_there,  // nothing was awaited
    has_come,   // and nothing has changed for a while, in which whoever names and configures ports has done so
    is_to_read, // SIGHUP: the configuration may be another one
    is_to_end,  // SIGTERM, SIGINT
};

// Notifies the service manager that mrcd is ready, and feeds its watchdog. One thread, with the signals of a process.
// Throws kernel::startup_error where the daemon could not start with any port.
[[nodiscard]] first_port_outcome await_first_port(const daemon_config &config);

} // namespace mrc::service
