// SPDX-License-Identifier: Apache-2.0
// How mrcd uses each port, chosen by trying (datapath/probes): native or generic XDP, transmit engine, copy or zero
// copy, packets of one buffer or of several. mrc-doctor(8) shows the same choice without making it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/probes/port.h"
#include "service/config/config.h"
#include "service/ports/link_monitor.h"
#include "service/ports/port_plan.h"

namespace mrc::service
{

struct engine_choice {
    engine_kind engine = engine_kind::xdp; // never automatic
    std::string reason;                    // why `auto` did not take the usual one; empty: it did
};
// Of each port by itself. `configured` as it is, and for `auto`: AF_XDP with zero copy; else XDP on devices that give
// frames back at once (nic_drivers.h); else AF_XDP in copy mode, as where the kernel has no live frames or the port
// drops what is redirected to it. What could not be tried, because the link is down, counts as possible.
[[nodiscard]] engine_choice choose_engine(engine_kind configured, const kernel::probes::port_abilities &port,
                                          const kernel::probes::attempt &live_frames);

// Whether live frames may be redirected into a port with this driver; where not, mrcd tries none: a NIC would send them
// to the network.
[[nodiscard]] bool may_redirect(engine_kind configured, std::string_view driver);

struct port_modes {
    std::uint32_t queues = 1;                  // that get an AF_XDP socket
    kernel::probes::xdp_attachment attachment; // of a program in whose place host_rx is put
    engine_choice transmit;
    std::optional<kernel::probes::send_cost> live_cost; // of frames redirected into it; none: not tried
    bool redirect_answers = false;                      // of host_rx, instead of XDP_TX
    bool agent_answers = false;                         // EV probes, which host_rx answers in place elsewhere
    bool was_tried = true;                              // its device was there

    [[nodiscard]] bool uses_xdp() const { return transmit.engine == engine_kind::xdp; }
};

struct host_modes {
    std::vector<port_modes> ports; // in the order of the configuration
    bool force_copy = false;       // not all ports have zero copy, and one memory cannot serve both kinds of sockets
    bool some_zero_copy = false;   // though some have it
    std::string single_buffer;     // why packets of several buffers are not received; empty: they are, if any can come
    bool several_buffers = false;  // programs take such packets
};

struct tried_port {
    kernel::probes::port_wish wish; // as it was tried in the end
    kernel::probes::port_abilities abilities;
};
struct port_trials {
    std::vector<tried_port> ports; // in the order of the wishes
    std::string single_buffer;     // the refusal for which several buffers were given up; empty: they were not
};
// Tries all ports together. Packets of several buffers are received on all ports or on none: where one refuses them,
// all are tried again without.
[[nodiscard]] port_trials try_ports(std::vector<kernel::probes::port_wish> wishes, kernel::probes::live_frames *frames);

// Why mrcd does not run by this plan where several buffers were given up. Empty: it does, or they were not.
[[nodiscard]] std::string buffers_refusal(const port_plan &plan, const port_trials &tried);

// Modes by what was tried; those of a port without an attached program mean nothing. `live_frames`: what the kernel
// says of them.
[[nodiscard]] host_modes settle_modes(engine_kind configured, port_trials tried,
                                      const kernel::probes::attempt &live_frames);

// Receive queues of a port that get a socket: as configured, else all, but MRC_MAX_QUEUES at most (port_preparation.h).
[[nodiscard]] std::uint32_t served_queues(const port_options &port);

// Tries the ports and settles their modes; those whose device is not there cannot be tried, and get what needs no
// trial: copy mode, the engine that the others have, and as many queues as the port that has most. Where several
// buffers are wanted and refused, the plan falls back to one; where that leaves no room for the configured payload, and
// where a port takes no XDP program, throws startup_error.
[[nodiscard]] host_modes choose_modes(const daemon_config &config, const link_monitor &links, port_plan &plan);

} // namespace mrc::service
