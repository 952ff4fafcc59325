// SPDX-License-Identifier: Apache-2.0
// The probes of the host as a whole.
#pragma once

#include <cstdint>

#include "service/config/config.h"
#include "tools/mrc-doctor/report.h"

namespace mrc::doctor
{

struct host_wish {
    const service::daemon_config &config;
    std::uint32_t queues = 1; // of all ports, that get an AF_XDP socket
    unsigned workers = 1;     // of each worker
    bool needs_several_buffers = false;
};

// Adds BPF programs and maps, TAP and TC, bpffs, memory, clock, CPUs.
void examine_host(const host_wish &wish, report &to);

} // namespace mrc::doctor
