// SPDX-License-Identifier: Apache-2.0
// Follows the host's ports while mrcd runs: what the kernel says of a link is written into the port's row and given to
// the worker at once, on a thread of its own (link_watch.h); whoever else is to know learns of it on the context's. A
// device that a port did not have at the start, or has again, is taken in; where that fails, each second anew.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "kernel/host_tables.h"
#include "protocol/types.h"
#include "service/config/config.h"
#include "service/ports/host_ports.h"
#include "service/ports/link_monitor.h"
#include "service/ports/link_watch.h"
#include "service/worker_crew.h"

namespace mrc::service
{

struct port_change {
    protocol::plane_index plane;
    bool up = false;     // as the kernel has it
    bool usable = false; // up, and the controller has it enabled
    mrc_port_reason reason = MRC_PORT_IN_USE;
};

class port_watch
{
public:
    // Borrowed.
    struct surroundings {
        const daemon_config &config;
        link_monitor &links;
        host_ports &ports;
        const kernel::host_tables &tables;
        const worker_crew &workers;
        std::function<void(const port_options &)> prepare; // a new device, before it is taken in; may be called again
    };
    // `announce` runs on the context's thread, with what has changed, which may be nothing.
    using announcement = std::function<void(const std::vector<port_change> &)>;

    port_watch(surroundings around, boost::asio::io_context &context, announcement announce);

    // The ports as they are now, before start(). Devices that are new are taken in from start() on.
    [[nodiscard]] std::vector<port_change> follow_links();
    // From now on by itself. Throws startup_error.
    void start() { watch_.start(); }

    // Why the port is, or is not, in use.
    [[nodiscard]] mrc_port_reason reason_of(protocol::plane_index plane) const;
    // Names each port that cannot be used and what would help; before start().
    void warn_of_unusable() const;

private:
    void publish();
    bool take_in_new_devices(); // whether any was

    surroundings around_;
    boost::asio::io_context &context_;
    announcement announce_;
    std::vector<std::string> refusals_; // the last one of each configured port, so that it is told once
    bool keeps_next_hops_ = false;
    link_watch watch_;
};

} // namespace mrc::service
