// SPDX-License-Identifier: Apache-2.0
// Which CPUs there are, near which of them a network device is, and which serve its interrupts. By sysfs and procfs, of
// what no network namespace hides: CPUs, NUMA nodes, buses, interrupts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernel/cpu_list.h"

namespace mrc::kernel::probes
{

struct interrupt {
    std::uint32_t number = 0;
    cpu_list cpus; // that serve it, or may where the kernel does not tell; empty: it tells neither
};

// What a device of a bus has; nothing of a virtual one.
struct device_place {
    int node = -1; // NUMA node; -1: none is told
    std::vector<interrupt> interrupts;
};

struct cpu_layout {
    cpu_list present;              // with those that are offline; empty: the kernel does not tell
    cpu_list online;               // likewise
    std::map<int, cpu_list> nodes; // those with CPUs, by number

    [[nodiscard]] int node_of(std::uint32_t cpu) const; // -1: of none
};

// `root`: of the file systems.
[[nodiscard]] cpu_layout read_cpu_layout(const std::string &root = "/");
// `bus`: as bus_of() of device.h.
[[nodiscard]] device_place read_device_place(const std::string &bus, const std::string &root = "/");

// Those that the caller runs on unless it is told other ones (taskset, isolated CPUs).
[[nodiscard]] cpu_list usual_cpus();
// Those that a thread of this process can be put on: what is online, within the cpuset of its cgroup.
[[nodiscard]] cpu_list permitted_cpus();

} // namespace mrc::kernel::probes
