// SPDX-License-Identifier: Apache-2.0
// Puts the addresses of setup on the ports.
#pragma once

#include <span>
#include <vector>

#include "service/ports/own_addresses.h"

namespace mrc::setup
{

// Adds each to its device with its /64; the kernel keeps them while the device is down (keep_addr_on_down). Returns
// those that were not there before. Throws std::system_error with the address and its device; then none of these is
// there. Needs CAP_NET_ADMIN.
[[nodiscard]] std::vector<service::device_address> put_addresses(std::span<const service::device_address> wanted);

// Waits until the kernel has made sure that nobody else on the links has them (RFC 4862 section 5.4), 10 s at most.
// Throws std::runtime_error that says which one is another's.
void await_addresses(std::span<const service::device_address> wanted);

// Those that are gone already are no error.
void take_off(std::span<const service::device_address> addresses);

// Takes addresses that another setup has left off the devices of these.
void remove_others(std::span<const service::device_address> wanted);

} // namespace mrc::setup
