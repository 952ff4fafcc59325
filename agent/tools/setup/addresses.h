// SPDX-License-Identifier: Apache-2.0
// Puts the addresses of setup on the ports.
#pragma once

#include <span>

#include "service/ports/own_addresses.h"

namespace mrc::setup
{

// Adds each to its device with its /64, and takes addresses that another setup has left off these devices. They last
// until the devices go. Throws std::system_error with the address and its device. Needs CAP_NET_ADMIN.
void put_addresses(std::span<const service::device_address> wanted);

// Waits until the kernel has made sure that nobody else on the links has them (RFC 4862 section 5.4), 10 s at most.
// Throws std::runtime_error that says which one is another's, with all of them taken off again.
void await_addresses(std::span<const service::device_address> wanted);

} // namespace mrc::setup
