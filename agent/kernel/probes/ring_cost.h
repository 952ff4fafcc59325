// SPDX-License-Identifier: Apache-2.0
// What it costs to send through a port's AF_XDP socket.
#pragma once

#include <optional>
#include <string>

#include "kernel/probes/live_frames.h"
#include "kernel/umem.h"
#include "kernel/xsk_socket_pair.h"

namespace mrc::kernel::probes
{

// By the fastest of a few calls with one small frame, a few with eight, and a few with eight long ones. None where the
// link is down, and where the socket sends nothing.
[[nodiscard]] std::optional<send_cost> ring_cost(umem &memory, xsk_socket_pair &socket, const std::string &device);

} // namespace mrc::kernel::probes
