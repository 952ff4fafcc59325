// SPDX-License-Identifier: Apache-2.0
// How fast a port is, for [transport] link_gbps = "auto".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "kernel/probes/device.h"
#include "service/config/config.h"

namespace mrc::service
{

// Mbit/s of the slowest port: planes carry equal load, so it is the one that fills first. Ports that tell nothing, as
// those without carrier, are passed over; `otherwise` where none does.
[[nodiscard]] std::uint32_t port_speed_mbps(
    std::span<const port_options> ports, std::uint32_t otherwise,
    const std::function<std::optional<std::uint32_t>(const std::string &)> &ask = kernel::probes::link_speed_mbps);

} // namespace mrc::service
