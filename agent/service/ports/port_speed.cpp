// SPDX-License-Identifier: Apache-2.0
#include "service/ports/port_speed.h"

#include <algorithm>

namespace mrc::service
{

std::uint32_t port_speed_mbps(std::span<const port_options> ports, std::uint32_t otherwise,
                              const std::function<std::optional<std::uint32_t>(const std::string &)> &ask)
{
    std::optional<std::uint32_t> slowest;
    for (const port_options &port : ports)
        if (const auto speed = ask(port.device))
            slowest = std::min(slowest.value_or(*speed), *speed);
    return slowest.value_or(otherwise);
}

} // namespace mrc::service
