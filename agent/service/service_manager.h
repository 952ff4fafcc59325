// SPDX-License-Identifier: Apache-2.0
// What mrcd tells the service manager that started it, by sd_notify(3)'s protocol: one datagram of KEY=VALUE lines to
// the socket in $NOTIFY_SOCKET. It is written here, as that page suggests, because one sendto() is no reason to have
// libsystemd and what it depends on in a privileged process. Without the variable all of it does nothing.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "kernel/unique_fd.h"

namespace mrc::service
{

// The variables that a service manager sets; null where it did not.
struct manager_environment {
    const char *notify_socket = nullptr; // a path, or @ and an abstract name
    const char *watchdog_usec = nullptr;
    const char *watchdog_pid = nullptr;

    [[nodiscard]] static manager_environment of_process();
};

class service_manager
{
public:
    explicit service_manager(const manager_environment &given);

    // How often to call alive(): half of the time after which the manager takes the daemon for hung.
    [[nodiscard]] std::optional<std::chrono::microseconds> watchdog_interval() const { return watchdog_; }

    // Each replaces the line that `systemctl status` shows.
    void ready(std::string_view status) const;
    void status(std::string_view status) const;
    void reloading() const; // ready() ends it
    void stopping(std::string_view status) const;
    void alive() const;

private:
    void send(const std::string &lines) const;

    kernel::unique_fd socket_;
    std::string address_; // as in sockaddr_un::sun_path
    std::optional<std::chrono::microseconds> watchdog_;
};

} // namespace mrc::service
