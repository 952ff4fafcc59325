// SPDX-License-Identifier: Apache-2.0
// What mrcd sets on ports for as long as it runs (changed_settings.h):
//
//   RSS keeps to the receive queues that have AF_XDP sockets: an MRC packet on another one would be dropped
//   (rx_drop_no_socket). By the NIC's RSS table, or, where it has none that can be set, by fewer channels. Not where
//   `queues` of the port is configured: there, somebody has seen to it, by flow rules for instance.
//
//   The kernel computes the checksums of what it sends by the overlay. A veth computes none, and says so to the
//   receiver, which believes it; but a program that forwards the packet by XDP, or takes headers off it, loses that.
#pragma once

#include <cstdint>
#include <string>

#include "kernel/privileges.h"
#include "service/config/config.h"
#include "service/ports/changed_settings.h"

namespace mrc::service
{

// Checksums that are left to a device of this driver reach the next hop unfinished.
[[nodiscard]] bool leaves_checksums_unfinished(const std::string &driver);

class port_preparation
{
public:
    // Of all ports whose devices are there; `has_overlay`: ordinary sockets send by them. What an mrcd that was killed
    // has left is undone, or kept where it is what this one would do. Of devices without an XDP program of ours. Throws
    // startup_error.
    port_preparation(const daemon_config &config, bool has_overlay, const kernel::user_identity &user,
                     device_settings &of);

    // A port of the configuration, whose device is there and has no XDP program of ours; `queues` can be served. Throws
    // startup_error where the driver keeps packets from no queue.
    void prepare(const port_options &port, std::uint32_t queues);

private:
    [[nodiscard]] bool is_wanted(const setting_change &change) const;
    [[nodiscard]] bool wants_checksums(const std::string &device) const;
    void limit_queues(const std::string &device, std::uint32_t queues);
    void complete_checksums(const std::string &device);

    const daemon_config &config_; // borrowed
    bool has_overlay_;
    device_settings &settings_;
    changed_settings changed_;
};

} // namespace mrc::service
