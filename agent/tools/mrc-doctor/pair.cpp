// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-doctor/pair.h"

#include <utility>

#include <fmt/format.h>

#include "kernel/probes/af_xdp.h"
#include "kernel/probes/device.h"
#include "kernel/probes/live_frames.h"
#include "kernel/probes/tiny_programs.h"
#include "kernel/startup_error.h"
#include "service/ports/port_plan.h"
#include "tools/mrc-doctor/scratch.h"

namespace mrc::doctor
{

namespace
{

constexpr double slow_frame_ns = 10'000;
constexpr int cost_budget_ms = 60;

pair_outcome nothing_tried(const std::string &why)
{
    const kernel::probes::attempt untried = kernel::probes::untried(why);
    return {.xdp = {.native = untried, .generic = untried},
            .live_frames = untried,
            .redirect = untried,
            .attached_ns = {},
            .unattached_ns = {},
            .af_xdp_copy = untried,
            .af_xdp_multi_buffer = untried};
}

void try_live_frames(const std::string &near, const std::string &far, pair_outcome &found)
{
    const kernel::unique_fd sink = kernel::probes::load_xdp_action(XDP_DROP, false);
    const kernel::probes::xdp_attachment drops =
        kernel::probes::attach_xdp(sink.get(), kernel::probes::ifindex_of(far), kernel::xdp_mode::automatic);
    kernel::probes::live_frames attached{true};
    found.live_frames = attached.possible();
    found.redirect = attached.redirect_into(near);
    found.attached_ns = attached.cost_ns(near, cost_budget_ms);
    kernel::probes::live_frames unattached{false};
    found.unattached_ns = unattached.cost_ns(near, cost_budget_ms);
}

finding of_pair(std::string probe, const kernel::probes::attempt &result, lack otherwise)
{
    return judge(scope::scratch, std::move(probe), "veth", result, std::move(otherwise));
}

void judge_xdp(const kernel::probes::xdp_support &xdp, report &to)
{
    to.findings.push_back(of_pair("xdp_native", xdp.native,
                                  {.severity = state::slower,
                                   .cost = "the lab runs in generic mode, several times slower; ports are tried apart",
                                   .remedy = {}}));
    to.findings.push_back(
        of_pair("xdp_generic", xdp.generic,
                {.severity = xdp.native.worked() ? state::slower : state::broken,
                 .cost = xdp.native.worked() ? "no fall-back for drivers without XDP of their own"
                                             : "mrcd ends at its start: nothing in this kernel takes an XDP program",
                 .remedy = {}}));
}

finding judge_cost(const pair_outcome &outcome, const service::daemon_config &config)
{
    if (!outcome.attached_ns || !outcome.unattached_ns)
        return of_pair("live_frames_cost",
                       outcome.live_frames.worked() ? kernel::probes::untried("a call failed") : outcome.live_frames,
                       {});
    const bool slow = *outcome.attached_ns > slow_frame_ns;
    const std::string figures = fmt::format("{:.0f} ns a packet; {:.0f} ns where the program is attached nowhere",
                                            *outcome.attached_ns, *outcome.unattached_ns);
    return of_pair("live_frames_cost", slow ? kernel::probes::refused(0, figures) : kernel::probes::worked(figures),
                   {.severity = state::slower,
                    .cost = "each call rebuilds the kernel's XDP dispatcher: XDP transmit is slower than AF_XDP",
                    .remedy = by_hand(config.origin.file, "transmit", "engine = \"af_xdp\"")});
}

void judge_live_frames(const pair_outcome &outcome, const service::daemon_config &config, report &to)
{
    const bool forced = config.transmit.engine == service::engine_kind::xdp;
    to.findings.push_back(
        of_pair("live_frames", outcome.live_frames,
                {.severity = forced ? state::broken : state::slower,
                 .cost = forced ? "mrcd ends at its start: transmit.engine is 'xdp'"
                                : "packets leave by AF_XDP sockets instead, fewer of them per second",
                 .remedy = forced ? by_hand(config.origin.file, "transmit", "engine = \"auto\"") : ""}));
    to.findings.push_back(of_pair("redirect", outcome.redirect,
                                  {.severity = state::slower,
                                   .cost = "XDP switches and XDP transmit do not work over virtual links: the lab "
                                           "needs --switch kernel and --engine af_xdp",
                                   .remedy = {}}));
    if (!outcome.live_frames.refused()) // which has no price
        to.findings.push_back(judge_cost(outcome, config));
}

} // namespace

pair_outcome try_pair()
{
    try {
        const std::string near = "near";
        const std::string far = "far";
        scratch_network network;
        network.add_pair(near, far, service::single_buffer_mtu);
        const int ifindex = kernel::probes::ifindex_of(near);
        pair_outcome found;
        found.xdp = kernel::probes::try_xdp(ifindex, false);
        try_live_frames(near, far, found);
        found.af_xdp_copy =
            kernel::probes::try_af_xdp({.ifindex = ifindex, .queue = 0, .copies = kernel::probes::af_xdp_copies::copy});
        found.af_xdp_multi_buffer = kernel::probes::try_af_xdp({.ifindex = ifindex, .queue = 0, .multi_buffer = true});
        return found;
    } catch (const kernel::startup_error &error) {
        return nothing_tried(error.what());
    }
}

void judge_pair(const pair_outcome &outcome, const service::daemon_config &config, report &to)
{
    judge_xdp(outcome.xdp, to);
    judge_live_frames(outcome, config, to);
    to.findings.push_back(of_pair("af_xdp_copy", outcome.af_xdp_copy,
                                  {.cost = "mrcd ends at its start: it receives by AF_XDP sockets, which kernels have "
                                           "that are built with CONFIG_XDP_SOCKETS",
                                   .remedy = {}}));
    to.findings.push_back(of_pair("af_xdp_multi_buffer", outcome.af_xdp_multi_buffer,
                                  {.severity = state::slower,
                                   .cost = "payloads end at 3072 bytes, and ordinary sockets at what one buffer holds",
                                   .remedy = {}}));
}

} // namespace mrc::doctor
