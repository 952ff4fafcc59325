// SPDX-License-Identifier: Apache-2.0
// A daemon that was killed is gone only when the kernel has taken it down: until then it holds its socket and its
// ports, the longer the more memory it had. The next one waits for that, within bounds.
#pragma once

#include <chrono>

#include "service/config/config.h"
#include "service/ports/link_monitor.h"

namespace mrc::service
{

inline constexpr std::chrono::milliseconds predecessor_patience{2000};

// Waits for the process that listens at the other end of the socket. False: it lives on.
[[nodiscard]] bool await_end_of_listener(int connected);

// Waits until no XDP program is attached to the ports. Where one stays, that is found when ours is tried.
void await_free_ports(const daemon_config &config, const link_monitor &links);

} // namespace mrc::service
