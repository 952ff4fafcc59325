// SPDX-License-Identifier: Apache-2.0
#include "kernel/probes/cpus.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>

#include <sched.h>

namespace mrc::kernel::probes
{

static_assert(most_cpus == CPU_SETSIZE);

namespace
{

using std::filesystem::path;

std::string first_line(const path &of)
{
    std::ifstream file{of};
    std::string line;
    std::getline(file, line);
    return line;
}

cpu_list cpus_in(const path &file)
{
    return parse_cpu_list(first_line(file)).value_or(cpu_list{});
}

// -1: no number.
int number_in(std::string_view text)
{
    int number = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() ? number : -1;
}

std::vector<std::string> names_in(const path &folder)
{
    std::vector<std::string> names;
    std::error_code ignored; // a folder that is not there has none
    for (const auto &entry : std::filesystem::directory_iterator{folder, ignored})
        names.push_back(entry.path().filename());
    return names;
}

cpu_list cpus_of(const cpu_set_t &set)
{
    cpu_list cpus;
    for (std::uint32_t cpu = 0; cpu < most_cpus; ++cpu)
        if (CPU_ISSET(cpu, &set))
            cpus.push_back(cpu);
    return cpus;
}

} // namespace

int cpu_layout::node_of(std::uint32_t cpu) const
{
    const auto found =
        std::ranges::find_if(nodes, [&](const auto &node) { return std::ranges::binary_search(node.second, cpu); });
    return found == nodes.end() ? -1 : found->first;
}

cpu_layout read_cpu_layout(const std::string &root)
{
    const path devices = path{root} / "sys/devices/system";
    const path nodes = devices / "node";
    cpu_layout found{
        .present = cpus_in(devices / "cpu/present"), .online = cpus_in(devices / "cpu/online"), .nodes = {}};
    for (const std::string &name : names_in(nodes))
        if (const int number = name.starts_with("node") ? number_in(std::string_view{name}.substr(4)) : -1; number >= 0)
            if (cpu_list cpus = cpus_in(nodes / name / "cpulist"); !cpus.empty())
                found.nodes.emplace(number, std::move(cpus));
    return found;
}

device_place read_device_place(const std::string &bus, const std::string &root)
{
    const path device = path{root} / "sys/bus/pci/devices" / bus;
    device_place found;
    if (bus.empty() || bus.find('/') != std::string::npos)
        return found;
    found.node = number_in(first_line(device / "numa_node"));
    for (const std::string &name : names_in(device / "msi_irqs")) {
        const int number = number_in(name);
        if (number < 0)
            continue;
        const path served = path{root} / "proc/irq" / name;
        // One that has been moved is served where it was until it comes the next time.
        const cpu_list allowed = cpus_in(served / "smp_affinity_list");
        cpu_list cpus = common_cpus(cpus_in(served / "effective_affinity_list"), allowed);
        if (cpus.empty())
            cpus = allowed;
        found.interrupts.push_back({.number = static_cast<std::uint32_t>(number), .cpus = std::move(cpus)});
    }
    std::ranges::sort(found.interrupts, {}, &interrupt::number);
    return found;
}

cpu_list usual_cpus()
{
    cpu_set_t set{};
    return ::sched_getaffinity(0, sizeof(set), &set) == 0 ? cpus_of(set) : cpu_list{};
}

// The kernel leaves out of a set what may not be used, and tells what is left.
cpu_list permitted_cpus()
{
    cpu_list found;
    std::thread{[&found] {
        cpu_set_t all{};
        for (std::uint32_t cpu = 0; cpu < most_cpus; ++cpu)
            CPU_SET(cpu, &all);
        (void)::sched_setaffinity(0, sizeof(all), &all); // refused: the thread keeps those that it has
        found = usual_cpus();
    }}.join();
    return found;
}

} // namespace mrc::kernel::probes
