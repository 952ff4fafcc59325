// SPDX-License-Identifier: Apache-2.0
// This host's addresses on the planes of a direct fabric: those that the configuration names, else those that the
// kernel has on the ports' devices.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "service/config/config.h"

namespace mrc::service
{

struct device_address {
    std::string device;
    mrc_ip address{};
};

// All of the network namespace that other hosts could send to: no link-local ones.
[[nodiscard]] std::expected<std::vector<device_address>, std::error_code> read_device_addresses();

// Fills in port_options::own_address of each port, by what is `on_devices`, and host_options::address where this host
// stands in the list with one. "auto" takes the address that a [[peer]]
// names on this plane, else the device's only one. The error says which port has none, or too many, or another one than
// its peers would send to, and what helps.
[[nodiscard]] std::expected<void, std::string> find_own_addresses(daemon_config &config,
                                                                  std::span<const device_address> on_devices);

// Of that error only what time may mend: the first port that has no address yet, and what helps. Empty: none lacks one.
[[nodiscard]] std::string find_missing_address(const daemon_config &config, std::span<const device_address> on_devices);

} // namespace mrc::service
