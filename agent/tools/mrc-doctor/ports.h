// SPDX-License-Identifier: Apache-2.0
// The probes of the ports that mrcd would use, and the modes that it would choose.
#pragma once

#include <cstdint>
#include <vector>

#include "service/config/config.h"
#include "service/ports/port_plan.h"
#include "tools/mrc-doctor/report.h"

namespace mrc::doctor
{

// Adds the findings and modes of each port of the configuration. A port on which a program is attached already, a
// running mrcd's for instance, is looked at and not touched.
void examine_ports(const service::daemon_config &config, report &to);

// AF_XDP sockets that mrcd would open on each port; without ports, as on one with one queue.
[[nodiscard]] std::vector<std::uint32_t> queues_of(const service::daemon_config &config);
// Of the ports that are there; zeros without any.
[[nodiscard]] service::mtu_range mtus_of(const service::daemon_config &config);

} // namespace mrc::doctor
