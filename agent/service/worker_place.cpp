// SPDX-License-Identifier: Apache-2.0
#include "service/worker_place.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernel/probes/device.h"
#include "kernel/startup_error.h"

namespace mrc::service
{

namespace
{

using kernel::cpu_list;
using kernel::cpu_list_text;

std::string cpus_in_words(const cpu_list &cpus)
{
    return fmt::format("{} {}", cpus.size() == 1 ? "CPU" : "CPUs", cpu_list_text(cpus));
}

void refuse_unless_permitted(const cpu_list &wanted, const host_cpus &host)
{
    const cpu_list missing = kernel::cpus_without(wanted, host.permitted);
    if (missing.empty())
        return;
    const auto is_known = [&](const cpu_list &cpus) { return std::ranges::binary_search(cpus, missing.front()); };
    const char *why = "is not among those that the cpuset of this process's cgroup has";
    if (!host.layout.present.empty() && !is_known(host.layout.present))
        why = "does not exist on this host";
    else if (!host.layout.online.empty() && !is_known(host.layout.online))
        why = "is offline";
    throw kernel::startup_error{fmt::format(R"(worker.affinity: CPU {} {}; allowed are "auto", "none", or some of {})",
                                            missing.front(), why, cpu_list_text(host.permitted))};
}

// Of those ports that are on any.
std::set<int> nodes_of(const std::vector<host_cpus::port> &ports)
{
    std::set<int> nodes;
    for (const auto &port : ports)
        if (port.place.node >= 0)
            nodes.insert(port.place.node);
    return nodes;
}

std::set<int> nodes_of(const cpu_list &cpus, const kernel::probes::cpu_layout &layout)
{
    std::set<int> nodes;
    for (const std::uint32_t cpu : cpus)
        nodes.insert(layout.node_of(cpu));
    return nodes;
}

worker_place place_near_ports(const host_cpus &host)
{
    const auto anywhere = [&](const std::string &why) {
        return worker_place{.cpus = {}, .reason = fmt::format("{}: {}", cpus_in_words(host.usual), why), .advice = {}};
    };
    if (host.layout.nodes.size() < 2)
        return anywhere("the host has one NUMA node");
    const std::set<int> nodes = nodes_of(host.ports);
    if (nodes.empty())
        return anywhere("no port tells its NUMA node");
    if (nodes.size() > 1)
        return anywhere(fmt::format("the ports are on NUMA nodes {}", fmt::join(nodes, ", ")));
    const auto near = host.layout.nodes.find(*nodes.begin());
    cpu_list cpus = near == host.layout.nodes.end() ? cpu_list{} : kernel::common_cpus(near->second, host.usual);
    if (cpus.empty())
        return anywhere(fmt::format("the process has none of NUMA node {}, where the ports are", *nodes.begin()));
    const std::string reason =
        fmt::format("{}: of NUMA node {}, where the ports are", cpus_in_words(cpus), near->first);
    return {.cpus = std::move(cpus), .reason = reason, .advice = {}};
}

std::vector<std::uint32_t> far_interrupts(const host_cpus::port &port, const std::set<int> &nodes,
                                          const kernel::probes::cpu_layout &layout)
{
    const auto is_near = [&](std::uint32_t cpu) { return nodes.contains(layout.node_of(cpu)); };
    std::vector<std::uint32_t> far;
    for (const auto &[number, served] : port.place.interrupts)
        if (!served.empty() && std::ranges::none_of(served, is_near))
            far.push_back(number);
    return far;
}

// Those of the nodes, without the workers' own where others are left.
cpu_list cpus_for_interrupts(const cpu_list &workers, const std::set<int> &nodes,
                             const kernel::probes::cpu_layout &layout)
{
    cpu_list all;
    for (const int node : nodes)
        if (const auto found = layout.nodes.find(node); found != layout.nodes.end())
            all.insert(all.end(), found->second.begin(), found->second.end());
    std::ranges::sort(all);
    const cpu_list others = kernel::cpus_without(all, workers);
    return others.empty() ? all : others;
}

// Of a host with several nodes; those of the worker are all of `cpus`.
void judge_ports(worker_place &place, const cpu_list &cpus, interrupt_places wanted, const host_cpus &host)
{
    const std::set<int> nodes = nodes_of(cpus, host.layout);
    for (const host_cpus::port &port : host.ports) {
        const auto &[device, at] = port;
        if (at.node >= 0 && !nodes.contains(at.node))
            place.advice.push_back(fmt::format(
                "{} is on NUMA node {}, and the worker on {}: packets cross from one to the "
                "other; worker.affinity = \"{}\" avoids it",
                device, at.node, cpus_in_words(cpus),
                cpu_list_text(host.layout.nodes.contains(at.node) ? host.layout.nodes.at(at.node) : cpu_list{})));
        const std::vector<std::uint32_t> far = far_interrupts(port, nodes, host.layout);
        if (far.empty())
            continue;
        if (wanted == interrupt_places::near)
            place.moves.push_back(
                {.device = device, .numbers = far, .to = cpus_for_interrupts(cpus, nodes, host.layout)});
        else
            place.advice.push_back(
                fmt::format("interrupts {} of {} are served by CPUs of another NUMA node than the worker's: "
                            "worker.interrupts = \"near\" moves them, where irqbalance leaves them alone",
                            fmt::join(far, ", "), device));
    }
}

} // namespace

host_cpus find_host_cpus(const std::vector<port_options> &ports)
{
    host_cpus found{.layout = kernel::probes::read_cpu_layout(),
                    .usual = kernel::probes::usual_cpus(),
                    .permitted = kernel::probes::permitted_cpus(),
                    .ports = {}};
    for (const port_options &port : ports)
        found.ports.push_back(
            {.device = port.device, .place = kernel::probes::read_device_place(kernel::probes::bus_of(port.device))});
    return found;
}

worker_place place_worker(const worker_config &wanted, const host_cpus &host)
{
    worker_place chosen;
    if (const auto *listed = std::get_if<cpu_list>(&wanted.affinity)) {
        refuse_unless_permitted(*listed, host);
        chosen = {.cpus = *listed, .reason = cpus_in_words(*listed) + ": as configured", .advice = {}};
    } else if (std::holds_alternative<any_cpu>(wanted.affinity)) {
        chosen = {.cpus = {}, .reason = cpus_in_words(host.usual) + ": as configured", .advice = {}};
    } else {
        chosen = place_near_ports(host);
    }
    if (host.layout.nodes.size() < 2)
        return chosen;
    const cpu_list &cpus = chosen.cpus.empty() ? host.usual : chosen.cpus;
    if (const std::set<int> nodes = nodes_of(cpus, host.layout); nodes.size() == 1)
        chosen.node = *nodes.begin();
    judge_ports(chosen, cpus, wanted.interrupts, host);
    return chosen;
}

} // namespace mrc::service
