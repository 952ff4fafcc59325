// SPDX-License-Identifier: Apache-2.0
// mrcnet0: the device by which ordinary sockets reach the fabric. host_tx on its egress picks a path and redirects to
// the port; what arrives for the host's own addresses goes up through the stack.
#pragma once

#include <memory>

#include "kernel/tap_device.h"
#include "service/config/config.h"
#include "service/fabric_rules.h"
#include "service/ports/link_monitor.h"

namespace mrc::service
{

// The device with the host's addresses and the routes to the others', and with room for the outer header on every port.
// Null: this host has no overlay. Throws kernel::startup_error.
[[nodiscard]] std::unique_ptr<kernel::tap_device> create_overlay(const daemon_config &config, const fabric_rules &rules,
                                                                 const link_monitor &links);

} // namespace mrc::service
