// SPDX-License-Identifier: Apache-2.0
// The probes of the host as a whole.
#pragma once

#include <cstdint>
#include <vector>

#include "service/config/config.h"
#include "tools/mrc-doctor/report.h"

namespace mrc::doctor
{

struct host_wish {
    const service::daemon_config &config;
    std::vector<std::uint32_t> queues; // of each port, that get an AF_XDP socket
    unsigned workers = 1;              // with one each
    bool needs_several_buffers = false;
};

// Adds BPF programs and maps, TAP and TC, bpffs, memory, clock, CPUs.
void examine_host(const host_wish &wish, report &to);

} // namespace mrc::doctor
