// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-doctor/ports.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernel/probes/device.h"
#include "service/ports/port_modes.h"
#include "tools/mrc-doctor/port_trial.h"
#include "tools/mrc-doctor/settings.h"
#include "tools/mrc-doctor/subject.h"

namespace mrc::doctor
{

namespace
{

std::string remedy_for_holder(const std::string &device, const kernel::probes::xdp_holder &holder)
{
    if (holder.links.empty())
        return fmt::format("ip link set dev {} {} off", device, holder.native ? "xdp" : "xdpgeneric");
    if (holder.links.size() == 1)
        return fmt::format("bpftool link detach id {}", holder.links.front());
    return fmt::format("# bpftool link detach id N, for the one of {} that is in this network namespace",
                       fmt::join(holder.links, ", "));
}

// A program that is there already: mrcd's own, or one that keeps mrcd out.
bool is_taken(subject &of)
{
    const auto holder = kernel::probes::find_xdp_holder(of.ifindex);
    if (!holder)
        return false;
    if (holder->program == "host_rx") {
        of.findings.push_back(of.make("xdp_native", state::untried, "in use by a running mrcd: " + holder->text()));
        return true;
    }
    of.findings.push_back(of.make("xdp_native", state::broken, "in use by another: " + holder->text(),
                                  {.cost = "mrcd ends at its start: a port has room for one XDP program",
                                   .remedy = remedy_for_holder(of.device, *holder)}));
    return true;
}

std::uint32_t served(const service::port_options &port)
{
    return std::min<std::uint32_t>(port.queues.value_or(kernel::probes::receive_queues(port.device)), MRC_MAX_QUEUES);
}

std::vector<subject> subjects(const service::daemon_config &config)
{
    std::vector<subject> ports;
    ports.reserve(config.ports.size());
    for (const service::port_options &port : config.ports)
        ports.push_back({.config = config,
                         .port = port,
                         .device = port.device,
                         .ifindex = kernel::probes::ifindex_of(port.device),
                         .mtu = kernel::probes::mtu_of(port.device),
                         .driver = kernel::probes::driver_of(port.device),
                         .queues = served(port),
                         .findings = {}});
    return ports;
}

finding payload_finding(const service::daemon_config &config, service::mtu_range mtus, const service::port_plan &plan,
                        const std::string &refusal)
{
    finding made{.where = scope::host, .probe = "payload", .on = "host", .found = {}, .cost = {}, .remedy = {}};
    if (refusal.empty()) {
        made.result = state::works;
        made.found = fmt::format("{} bytes a packet", plan.payload_bytes);
        return made;
    }
    service::daemon_config automatic = config;
    automatic.transmit.payload.reset();
    made.result = state::broken;
    made.found = refusal;
    made.cost = "mrcd ends at its start: its configuration asks for packets that it cannot send";
    made.remedy =
        by_hand(config.origin.file, "transmit",
                fmt::format("payload = {}",
                            service::payload_of(automatic, std::min(mtus.smallest, service::single_buffer_mtu))));
    return made;
}

chosen_modes mode_of(const subject &of, const service::host_modes &all, const service::port_modes &chosen,
                     bool multi_buffer)
{
    return {.port = of.device,
            .xdp = chosen.attachment.native ? "native" : "generic",
            .transmit = chosen.uses_xdp() ? "xdp" : "af_xdp",
            .af_xdp = all.force_copy ? "copy" : "zero copy",
            .buffers = multi_buffer ? "several" : "one",
            .reason = chosen.transmit.reason};
}

// Whether frames can be redirected is told of each port that was tried; that they cannot, only where mrcd would do it.
bool tells_redirect(service::engine_kind engine, const kernel::probes::port_abilities &abilities)
{
    return service::may_redirect(engine, abilities.driver) ||
           (engine == service::engine_kind::automatic && abilities.redirect.worked());
}

port_outcome outcome_of(const subject &of, const service::tried_port &tried, const service::port_plan &plan)
{
    const auto &[wish, abilities] = tried;
    port_outcome outcome;
    outcome.as_mrcd = {.native = abilities.attachment.native_attempt, .generic = abilities.attachment.generic_attempt};
    outcome.attached = abilities.attachment.attached();
    outcome.large_receive = kernel::probes::offloads_of(of.device).large_receive;
    if (tells_redirect(plan.engine, abilities))
        outcome.redirect = abilities.redirect;
    for (std::uint32_t queue = 0; outcome.attached && queue < of.queues; ++queue)
        outcome.queues.push_back(
            kernel::probes::try_af_xdp_queue(of.ifindex, queue)); // some drivers ask for a program first
    return outcome;
}

std::vector<kernel::probes::port_wish> wishes_for(const service::port_plan &plan, const std::vector<subject *> &free)
{
    std::vector<kernel::probes::port_wish> wishes;
    wishes.reserve(free.size());
    for (const subject *port : free)
        wishes.push_back({.device = port->device,
                          .ifindex = port->ifindex,
                          .mode = service::xdp_mode_of(port->port),
                          .queues = port->queues,
                          .multi_buffer = plan.multi_buffer});
    return wishes;
}

// As mrcd would choose, with the same probes. Returns why it would end for lack of packets of several buffers.
std::string try_free_ports(const service::port_plan &plan, const std::vector<subject *> &free, report &to)
{
    std::optional<kernel::probes::live_frames> frames;
    if (plan.engine != service::engine_kind::af_xdp)
        frames.emplace(true);
    service::port_trials tried = service::try_ports(wishes_for(plan, free), frames ? &*frames : nullptr);
    const std::string refusal = service::buffers_refusal(plan, tried);
    const bool multi_buffer = plan.multi_buffer && tried.single_buffer.empty();
    std::vector<port_outcome> outcomes;
    outcomes.reserve(free.size());
    for (std::size_t i = 0; i < free.size(); ++i)
        outcomes.push_back(outcome_of(*free[i], tried.ports[i], plan));
    {
        const service::host_modes modes = service::settle_modes(plan.engine, std::move(tried),
                                                                frames ? frames->possible() : kernel::probes::worked());
        for (std::size_t i = 0; i < free.size(); ++i) {
            if (outcomes[i].attached)
                to.modes.push_back(mode_of(*free[i], modes, modes.ports[i], multi_buffer));
            outcomes[i].agent_answers = outcomes[i].attached && modes.ports[i].agent_answers;
        }
    } // the programs are gone from here on
    for (std::size_t i = 0; i < free.size(); ++i) {
        outcomes[i].alone = kernel::probes::try_xdp(free[i]->ifindex, multi_buffer);
        judge_outcome(outcomes[i], *free[i]);
    }
    return refusal;
}

// Ports of this configuration that are there, with their findings before anything is tried; returns those to be tried.
std::vector<subject *> look_at(std::vector<subject> &ports)
{
    std::vector<subject *> free;
    const bool none = std::ranges::all_of(ports, [](const subject &of) { return of.ifindex == 0; });
    for (subject &of : ports) {
        if (of.ifindex == 0) {
            of.findings.push_back(
                of.make("link", none ? state::broken : state::slower, "no such device here",
                        {.cost = none ? "mrcd ends at its start: no port has a device"
                                      : "its plane is out of use; mrcd takes the device in when it appears",
                         .remedy = "ip -brief link  # shows the devices that there are"}));
            continue;
        }
        if (const std::string refusal =
                service::bond_refusal(of.device, of.driver, kernel::probes::is_bonded(of.device));
            !refusal.empty()) {
            of.findings.push_back(of.make("link", state::broken, refusal,
                                          {.cost = "mrcd ends at its start",
                                           .remedy = "ip -details link show dev " + of.device + "  # shows the bond"}));
            continue;
        }
        of.findings.push_back(examine_link(of));
        of.findings.push_back(examine_mtu(of));
        if (!is_taken(of))
            free.push_back(&of);
    }
    return free;
}

} // namespace

std::vector<std::uint32_t> queues_of(const service::daemon_config &config)
{
    std::vector<std::uint32_t> queues;
    queues.reserve(config.ports.size());
    for (const service::port_options &port : config.ports)
        queues.push_back(served(port));
    return queues.empty() ? std::vector<std::uint32_t>{1} : queues;
}

service::mtu_range mtus_of(const service::daemon_config &config)
{
    std::vector<std::uint32_t> mtus;
    for (const service::port_options &port : config.ports)
        if (kernel::probes::ifindex_of(port.device) != 0)
            mtus.push_back(kernel::probes::mtu_of(port.device));
    if (mtus.empty())
        return {};
    const auto [smallest, largest] = std::ranges::minmax_element(mtus);
    return {.smallest = *smallest, .largest = *largest};
}

void examine_ports(const service::daemon_config &config, report &to)
{
    std::vector<subject> ports = subjects(config);
    const service::mtu_range mtus = mtus_of(config);
    const auto planned = service::make_plan(config, mtus);
    // Without a plan the ports are tried all the same.
    const service::port_plan plan = planned.value_or(service::port_plan{
        .payload_bytes = 0, .multi_buffer = mtus.needs_several_buffers(), .engine = config.transmit.engine});
    const std::string refusal = try_free_ports(plan, look_at(ports), to);
    if (service::mtu_refusal(config, mtus.smallest).empty()) // that is the port's trouble, and told there
        to.findings.push_back(payload_finding(config, mtus, plan, planned ? refusal : planned.error()));
    for (subject &of : ports) {
        if (of.ifindex != 0) {
            to.ports.push_back({.device = of.device, .driver = of.driver});
            if (auto known = examine_driver(of, plan.multi_buffer, std::thread::hardware_concurrency()))
                of.findings.push_back(*std::move(known));
            of.findings.push_back(examine_checksum_offload(of));
            of.findings.push_back(examine_receive_offload(of));
            of.findings.push_back(examine_steering(of));
        }
        std::ranges::move(of.findings, std::back_inserter(to.findings));
    }
}

} // namespace mrc::doctor
