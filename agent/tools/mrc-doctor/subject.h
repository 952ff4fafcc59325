// SPDX-License-Identifier: Apache-2.0
// A port under examination, and the findings about it so far.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "service/config/config.h"
#include "tools/mrc-doctor/report.h"

namespace mrc::doctor
{

struct subject {
    const service::daemon_config &config;
    const service::port_options &port;
    std::string device;
    int ifindex = 0; // 0: no such device
    std::uint32_t mtu = 0;
    std::string driver;
    std::uint32_t queues = 1; // that would get a socket
    std::vector<finding> findings;

    [[nodiscard]] finding make(std::string probe, state result, std::string found, lack otherwise = {}) const
    {
        const bool trouble = result == state::slower || result == state::broken;
        return {.where = scope::port,
                .probe = std::move(probe),
                .on = device,
                .result = result,
                .found = std::move(found),
                .cost = trouble ? std::move(otherwise.cost) : std::string{},
                .remedy = trouble ? std::move(otherwise.remedy) : std::string{}};
    }
    [[nodiscard]] finding made_of(std::string probe, const kernel::probes::attempt &result, lack otherwise) const
    {
        return judge(scope::port, std::move(probe), device, result, std::move(otherwise));
    }
};

} // namespace mrc::doctor
