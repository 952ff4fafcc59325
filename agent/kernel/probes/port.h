// SPDX-License-Identifier: Apache-2.0
// What one port of mrcd can do, found out in the order that leaves the least to undo: the program that is attached
// first stays, until mrcd puts its own in its place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernel/probes/attempt.h"
#include "kernel/probes/live_frames.h"
#include "kernel/probes/xdp_attach.h"

namespace mrc::kernel::probes
{

struct port_wish {
    std::string device;
    int ifindex = 0;
    xdp_mode mode = xdp_mode::automatic;
    std::uint32_t queues = 1;  // that get an AF_XDP socket, from 0 on
    bool multi_buffer = false; // packets of several buffers can arrive
    bool redirect = true;      // live frames may be redirected into it
};

struct port_abilities {
    std::string driver;                       // "virtio_net"; empty: it does not tell
    xdp_attachment attachment;                // of a program that lets every packet pass
    attempt af_xdp = untried("no program");   // on all queues, as wished; zero copy or not
    bool zero_copy = false;                   // on all queues, with native XDP
    attempt redirect = untried("no program"); // into the port
    std::optional<send_cost> redirect_cost;   // none: no redirect has worked
};

// Needs the port and its queues for itself. `frames`: nullptr where nobody will redirect into any port.
[[nodiscard]] port_abilities try_port(const port_wish &wish, live_frames *frames);

} // namespace mrc::kernel::probes
