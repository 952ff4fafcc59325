// SPDX-License-Identifier: Apache-2.0
// Which CPUs the worker may run on ([worker] affinity), and which are to serve the ports' interrupts. What the host has
// is read by find_host_cpus(); what follows from it is a pure function of that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernel/cpu_list.h"
#include "kernel/probes/cpus.h"
#include "service/config/config.h"

namespace mrc::service
{

struct host_cpus {
    struct port {
        std::string device;
        kernel::probes::device_place place;
    };

    kernel::probes::cpu_layout layout;
    kernel::cpu_list usual;     // of this process
    kernel::cpu_list permitted; // to it
    std::vector<port> ports;
};

// Ports whose device is missing are on no node.
[[nodiscard]] host_cpus find_host_cpus(const std::vector<port_options> &ports);

struct worker_place {
    kernel::cpu_list cpus; // empty: those of the process, as the scheduler chooses
    std::string reason;    // for the log, with the CPUs
    // Of ports, or interrupts of theirs, that are on another NUMA node than these CPUs, and what helps.
    std::vector<std::string> advice;
    int node = -1; // of these CPUs, where the host has several and they are all of one

    // Interrupts that are to be served by other CPUs.
    struct interrupt_move {
        std::string device;
        std::vector<std::uint32_t> numbers;
        kernel::cpu_list to;
    };
    std::vector<interrupt_move> moves{};
};

// Throws kernel::startup_error that names a CPU which cannot be had, why, and those that can.
[[nodiscard]] worker_place place_worker(const worker_config &wanted, const host_cpus &host);

} // namespace mrc::service
