// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc_doctor_host.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "datapath/probes/af_xdp.h"
#include "datapath/probes/bpf_objects.h"
#include "datapath/probes/device.h"
#include "datapath/probes/host_clock.h"
#include "datapath/probes/live_frames.h"
#include "datapath/probes/overlay.h"
#include "datapath/probes/packet_memory.h"
#include "datapath/probes/pinning.h"
#include "datapath/probes/tiny_programs.h"
#include "datapath/probes/xdp_attach.h"
#include "datapath/startup_error.h"
#include "service/host_ports.h"
#include "service/port_plan.h"
#include "tools/mrc_doctor_scratch.h"

namespace mrc::doctor
{

namespace
{

namespace probes = datapath::probes;

constexpr double slow_clock_ns = 250;    // a reading by the vDSO takes 20 to 60 ns, a system call several hundred
constexpr double coarse_clock_ns = 1000; // base round-trip times of a fabric are a few microseconds
constexpr double slow_frame_ns = 10'000;
constexpr int cost_budget_ms = 60;

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
    for (const auto &[name, result] : probes::try_map_types())
        to.findings.push_back(
            judge(scope::host, "map_type", name, result,
                  {.cost = "mrcd cannot make its tables in the kernel and ends at its start", .mend = {}}));
    for (const auto &[name, result] : probes::try_programs())
        to.findings.push_back(judge(scope::host, "program", name, result,
                                    {.cost = "mrcd ends at its start: the kernel refuses its program", .mend = {}}));
    to.findings.push_back(judge(
        scope::host, "multi_buffer_program", "host_rx (xdp)", probes::try_multi_buffer_program(),
        {.severity = state::slower,
         .cost = wish.needs_several_buffers
                     ? "a port has an MTU above 3400: native XDP may refuse it, and payloads end at 3072 bytes"
                     : "nothing now; ports with an MTU above 3400 would lose native XDP, payloads end at 3072 bytes",
         .mend = {}}));
}

void examine_overlay(report &to)
{
    const probes::overlay_support overlay = probes::try_overlay();
    to.findings.push_back(
        judge(scope::host, "tap", "host", overlay.tap,
              {.cost = "mrcd ends at its start: it needs a TAP device for ordinary sockets and one that "
                       "its transmit program sits on",
               .mend = "modprobe tun"}));
    to.findings.push_back(judge(scope::host, "egress_program", "host", overlay.egress_program,
                                {.cost = "mrcd ends at its start: it cannot put a program on its overlay's egress",
                                 .mend = "modprobe -a sch_ingress cls_bpf"}));
}

void examine_memory(const host_wish &wish, report &to)
{
    const std::string &pin_dir = wish.config.daemon.pin_dir;
    to.findings.push_back(judge(
        scope::host, "bpffs", "host", probes::try_pinning(pin_dir),
        {.cost = "mrcd ends at its start: it cannot pin its maps, which mrcctl and bpftool read",
         .mend = fmt::format("mount -t bpf bpf {}", pin_dir.starts_with("/sys/fs/bpf/") ? "/sys/fs/bpf" : pin_dir)}));
    const std::size_t bytes = rounded_to_huge_pages(service::packet_memory_bytes(wish.queues));
    finding locked = judge(scope::host, "locked_memory", "host", probes::try_locked_memory(bytes),
                           {.cost = "mrcd ends at its start: the kernel does not lock the memory of its packets",
                            .mend = "ulimit -l unlimited"});
    if (locked.result == state::works)
        locked.found = mebibytes(bytes);
    to.findings.push_back(std::move(locked));
    finding huge =
        judge(scope::host, "huge_pages", "host", probes::try_huge_pages(bytes),
              {.severity = state::slower,
               .cost = fmt::format("packet memory ({}) lies in small pages: more address translations per packet",
                                   mebibytes(bytes)),
               .mend = fmt::format("sysctl -w vm.nr_hugepages={}",
                                   probes::configured_huge_pages() + bytes / probes::huge_page_bytes)});
    if (huge.result == state::works)
        huge.found = mebibytes(bytes);
    to.findings.push_back(std::move(huge));
}

void examine_clock(report &to)
{
    const probes::clock_figures clock = probes::read_clock();
    const bool slow = clock.cost_ns > slow_clock_ns;
    const bool coarse = clock.step_ns > coarse_clock_ns;
    finding found{
        .where = scope::host,
        .probe = "clock",
        .on = "host",
        .result = slow || coarse ? state::slower : state::works,
        .found = fmt::format("{}, {:.0f} ns a reading, steps of {:.0f} ns", clock.source, clock.cost_ns, clock.step_ns),
        .cost = {},
        .mend = {}};
    if (slow)
        found.cost = "the worker reads the clock for every burst, and each reading is a system call";
    if (coarse)
        found.cost = "round-trip times are measured in coarse steps: congestion control reacts late";
    // The sources that the vDSO reads without a system call.
    for (const char *fast : {"tsc", "kvm-clock"})
        if ((slow || coarse) && found.mend.empty() && clock.other_sources.find(fast) != std::string::npos)
            found.mend =
                fmt::format("echo {} > /sys/devices/system/clocksource/clocksource0/current_clocksource", fast);
    to.findings.push_back(std::move(found));
}

void examine_xdp(const std::string &device, report &to)
{
    const probes::xdp_support xdp = probes::try_xdp(probes::ifindex_of(device), false);
    to.findings.push_back(judge(scope::scratch, "xdp_native", "veth", xdp.native,
                                {.severity = state::slower,
                                 .cost = "the lab runs in generic mode, several times slower; ports are tried apart",
                                 .mend = {}}));
    to.findings.push_back(
        judge(scope::scratch, "xdp_generic", "veth", xdp.generic,
              {.severity = xdp.native.worked() ? state::slower : state::broken,
               .cost = xdp.native.worked() ? "no fall-back for drivers without XDP of their own"
                                           : "mrcd ends at its start: nothing in this kernel takes an XDP program",
               .mend = {}}));
}

void examine_af_xdp(const std::string &device, report &to)
{
    const int ifindex = probes::ifindex_of(device);
    to.findings.push_back(
        judge(scope::scratch, "af_xdp_copy", "veth",
              probes::try_af_xdp({.ifindex = ifindex, .queue = 0, .copies = probes::af_xdp_copies::copy}),
              {.cost = "mrcd ends at its start: it receives by AF_XDP sockets, which kernels have that are built with "
                       "CONFIG_XDP_SOCKETS",
               .mend = {}}));
    to.findings.push_back(judge(scope::scratch, "af_xdp_multi_buffer", "veth",
                                probes::try_af_xdp({.ifindex = ifindex, .queue = 0, .multi_buffer = true}),
                                {.severity = state::slower,
                                 .cost = "payloads end at 3072 bytes, and ordinary sockets at what one buffer holds",
                                 .mend = {}}));
}

finding cost_finding(const service::daemon_config &config, std::optional<double> attached,
                     std::optional<double> unattached)
{
    finding found;
    found.where = scope::scratch;
    found.probe = "live_frames_cost";
    found.on = "veth";
    if (!attached || !unattached) {
        found.found = "no live frames";
        return found;
    }
    found.found =
        fmt::format("{:.0f} ns a packet; {:.0f} ns where the program is attached nowhere", *attached, *unattached);
    found.result = *attached > slow_frame_ns ? state::slower : state::works;
    if (found.result == state::slower) {
        found.cost = "each call rebuilds the kernel's XDP dispatcher: XDP transmit is slower than AF_XDP";
        found.mend = by_hand(config.file, "transmit", "engine = \"af_xdp\"");
    }
    return found;
}

void examine_live_frames(const service::daemon_config &config, const std::string &near, const std::string &far,
                         report &to)
{
    const bool forced = config.transmit.engine == service::transmit_engine::xdp;
    const datapath::unique_fd sink = probes::load_xdp_action(XDP_DROP, false);
    const probes::xdp_attachment drops =
        probes::attach_xdp(sink.get(), probes::ifindex_of(far), datapath::xdp_mode::automatic);
    probes::live_frames attached{true};
    to.findings.push_back(judge(scope::scratch, "live_frames", "veth", attached.possible(),
                                {.severity = forced ? state::broken : state::slower,
                                 .cost = forced ? "mrcd ends at its start: transmit.engine is 'xdp'"
                                                : "packets leave by AF_XDP sockets instead, fewer of them per second",
                                 .mend = forced ? by_hand(config.file, "transmit", "engine = \"auto\"") : ""}));
    to.findings.push_back(judge(scope::scratch, "redirect", "veth", attached.redirect_into(near),
                                {.severity = state::slower,
                                 .cost = "XDP switches and XDP transmit do not work over virtual links: the lab needs "
                                         "--switch kernel and --engine af_xdp",
                                 .mend = {}}));
    probes::live_frames unattached{false};
    to.findings.push_back(
        cost_finding(config, attached.cost_ns(near, cost_budget_ms), unattached.cost_ns(near, cost_budget_ms)));
}

} // namespace

void examine_host(const host_wish &wish, report &to)
{
    examine_bpf(wish, to);
    try {
        const scratch_network network; // its devices and qdiscs never show on the host
        examine_overlay(to);
    } catch (const datapath::startup_error &error) {
        to.findings.push_back({.where = scope::host,
                               .probe = "tap",
                               .on = "host",
                               .result = state::untried,
                               .found = error.what(),
                               .cost = {},
                               .mend = {}});
    }
    examine_memory(wish, to);
    examine_clock(to);
}

void examine_scratch_pair(const service::daemon_config &config, report &to)
{
    try {
        scratch_network network;
        network.add_pair("near", "far", service::single_buffer_mtu);
        examine_xdp("near", to);
        examine_live_frames(config, "near", "far", to);
        examine_af_xdp("near", to);
    } catch (const datapath::startup_error &error) {
        to.findings.push_back({.where = scope::scratch,
                               .probe = "xdp_native",
                               .on = "veth",
                               .result = state::untried,
                               .found = error.what(),
                               .cost = {},
                               .mend = {}});
    }
}

} // namespace mrc::doctor
