// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-doctor/host.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernel/probes/bpf_objects.h"
#include "kernel/probes/host_clock.h"
#include "kernel/probes/overlay.h"
#include "kernel/probes/packet_memory.h"
#include "kernel/probes/pinning.h"
#include "kernel/startup_error.h"
#include "kernel/trusted_folder.h"
#include "service/daemon_user.h"
#include "service/ports/host_ports.h"
#include "service/worker_place.h"
#include "tools/mrc-doctor/scratch.h"

namespace mrc::doctor
{

namespace
{

namespace probes = kernel::probes;

constexpr double slow_clock_ns = 250;    // a reading by the vDSO takes 20 to 60 ns, a system call several hundred
constexpr double coarse_clock_ns = 1000; // base round-trip times of a fabric are a few microseconds

std::size_t rounded_to_huge_pages(std::size_t bytes)
{
    return (bytes + probes::huge_page_bytes - 1) / probes::huge_page_bytes * probes::huge_page_bytes;
}

std::string mebibytes(std::size_t bytes)
{
    return fmt::format("{} MiB", bytes >> 20U);
}

void examine_bpf(const host_wish &wish, report &to)
{
    for (const auto &[name, result] : kernel::probes::try_map_types())
        to.findings.push_back(
            judge(scope::host, "map_type", name, result,
                  {.cost = "mrcd cannot make its tables in the kernel and ends at its start", .remedy = {}}));
    for (const auto &[name, result] : kernel::probes::try_programs())
        to.findings.push_back(judge(scope::host, "program", name, result,
                                    {.cost = "mrcd ends at its start: the kernel refuses its program", .remedy = {}}));
    to.findings.push_back(judge(
        scope::host, "multi_buffer_program", "host_rx (xdp)", kernel::probes::try_multi_buffer_program(),
        {.severity = state::slower,
         .cost = wish.needs_several_buffers
                     ? "a port has an MTU above 3400: native XDP may refuse it, and payloads end at 3072 bytes"
                     : "nothing now; ports with an MTU above 3400 would lose native XDP, payloads end at 3072 bytes",
         .remedy = {}}));
}

// Its devices and qdiscs never show on the host.
kernel::probes::overlay_support try_overlay_apart()
{
    try {
        const scratch_network network;
        return kernel::probes::try_overlay();
    } catch (const kernel::startup_error &error) {
        return {.tap = kernel::probes::untried(error.what()), .egress_program = kernel::probes::untried(error.what())};
    }
}

void examine_overlay(report &to)
{
    const kernel::probes::overlay_support overlay = try_overlay_apart();
    to.findings.push_back(
        judge(scope::host, "tap", "host", overlay.tap,
              {.cost = "mrcd ends at its start: it needs a TAP device for ordinary sockets and one that "
                       "its transmit program sits on",
               .remedy = "modprobe tun"}));
    to.findings.push_back(judge(scope::host, "egress_program", "host", overlay.egress_program,
                                {.cost = "mrcd ends at its start: it cannot put a program on its overlay's egress",
                                 .remedy = "modprobe -a sch_ingress cls_bpf"}));
}

void examine_pinning(const host_wish &wish, report &to)
{
    const std::string &pin_dir = wish.config.daemon.pin_dir;
    const auto user = service::user_for(wish.config);
    const uid_t uid = user ? user->who.uid : 0; // mrcd refuses a user that does not exist before it comes to this
    const auto problem = kernel::find_folder_problem(pin_dir, uid);
    const std::string mount =
        fmt::format("mount -t bpf bpf {}", pin_dir.starts_with("/sys/fs/bpf/") ? "/sys/fs/bpf" : pin_dir);
    to.findings.push_back(
        judge(scope::host, "bpffs", "host", kernel::probes::try_pinning(pin_dir, uid),
              {.cost = "mrcd ends at its start: it cannot pin its maps, which mrcctl and bpftool read",
               .remedy = problem ? problem->remedy : mount}));
}

void examine_memory(const host_wish &wish, report &to)
{
    examine_pinning(wish, to);
    const std::size_t bytes = rounded_to_huge_pages(service::packet_memory_for(wish.queues, wish.workers).bytes());
    finding locked = judge(scope::host, "locked_memory", "host", kernel::probes::try_locked_memory(bytes),
                           {.cost = "mrcd ends at its start: the kernel does not lock the memory of its packets",
                            .remedy = "ulimit -l unlimited"});
    if (locked.result == state::works)
        locked.found = mebibytes(bytes);
    to.findings.push_back(std::move(locked));
    finding huge =
        judge(scope::host, "huge_pages", "host", kernel::probes::try_huge_pages(bytes),
              {.severity = state::slower,
               .cost = fmt::format("packet memory ({}) lies in small pages: more address translations per packet",
                                   mebibytes(bytes)),
               .remedy = fmt::format("sysctl -w vm.nr_hugepages={}",
                                     kernel::probes::configured_huge_pages() + bytes / probes::huge_page_bytes)});
    if (huge.result == state::works)
        huge.found = mebibytes(bytes);
    to.findings.push_back(std::move(huge));
}

void examine_clock(report &to)
{
    const kernel::probes::clock_figures clock = kernel::probes::read_clock();
    const bool slow = clock.cost_ns > slow_clock_ns;
    const bool coarse = clock.step_ns > coarse_clock_ns;
    finding found{
        .where = scope::host,
        .probe = "clock",
        .on = "host",
        .result = slow || coarse ? state::slower : state::works,
        .found = fmt::format("{}, {:.0f} ns a reading, steps of {:.0f} ns", clock.source, clock.cost_ns, clock.step_ns),
        .cost = {},
        .remedy = {}};
    if (slow)
        found.cost = "the worker reads the clock for every burst, and each reading is a system call";
    if (coarse)
        found.cost = "round-trip times are measured in coarse steps: congestion control reacts late";
    // The sources that the vDSO reads without a system call.
    for (const char *fast : {"tsc", "kvm-clock"})
        if ((slow || coarse) && found.remedy.empty() && clock.other_sources.find(fast) != std::string::npos)
            found.remedy =
                fmt::format("echo {} > /sys/devices/system/clocksource/clocksource0/current_clocksource", fast);
    to.findings.push_back(std::move(found));
}

void examine_worker_cpus(const host_wish &wish, report &to)
{
    finding found{.where = scope::host,
                  .probe = "worker_cpus",
                  .on = "host",
                  .result = state::works,
                  .found = {},
                  .cost = {},
                  .remedy = {}};
    try {
        const service::worker_place place =
            service::place_worker(wish.config.worker, service::find_host_cpus(wish.config.ports));
        found.found = place.reason;
        if (!place.advice.empty()) {
            found.result = state::slower;
            found.cost = "packets and what describes them cross between NUMA nodes";
            found.remedy = fmt::format("# {}", fmt::join(place.advice, "; "));
        }
    } catch (const kernel::startup_error &error) {
        found.result = state::broken;
        found.found = error.what();
        found.cost = "mrcd ends at its start";
        found.remedy = by_hand(wish.config.origin.file, "[worker]", "affinity = \"auto\"");
    }
    to.findings.push_back(std::move(found));
}

} // namespace

void examine_host(const host_wish &wish, report &to)
{
    examine_bpf(wish, to);
    examine_overlay(to);
    examine_memory(wish, to);
    examine_clock(to);
    examine_worker_cpus(wish, to);
}

} // namespace mrc::doctor
