// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-doctor/port_trial.h"

#include <cerrno>

#include <fmt/format.h>

#include "service/ports/nic_drivers.h"

namespace mrc::doctor
{

namespace
{

std::string remedy_for_mtu(const subject &of)
{
    constexpr const char *set = "ip link set dev {} mtu {}";
    const std::uint32_t largest = service::largest_single_buffer_mtu(of.driver);
    std::string remedy = of.mtu > largest ? fmt::format(set, of.device, largest) : std::string{};
    if (of.driver == "veth") // counts the MTU of its other end
        remedy +=
            (remedy.empty() ? "" : "; ") + fmt::format(set, "PEER", largest) + "  # PEER: the other end of the link";
    return remedy;
}

std::string remedy_for_native(const subject &of, const port_outcome &outcome, const kernel::probes::attempt &native)
{
    if (outcome.large_receive)
        return fmt::format("ethtool -K {} lro off", of.device);
    if (native.error == ENOSPC && of.driver == "veth")
        return fmt::format("ethtool -L {} rx 16", of.device); // as many as the other end has transmit queues, or more
    const bool by_mtu = of.driver == "veth" ? native.error == ERANGE : native.error != EOPNOTSUPP;
    return by_mtu ? remedy_for_mtu(of) : std::string{};
}

// Without any program on the port the last attempt is what ends mrcd.
void judge_xdp(const port_outcome &outcome, subject &of)
{
    const std::string end = "mrcd ends at its start: it cannot attach its receive program";
    const bool generic_last = outcome.as_mrcd.generic.refused();
    const auto either = [](const kernel::probes::attempt &first, const kernel::probes::attempt &second) {
        return first.result == kernel::probes::attempt::outcome::untried ? second : first;
    };
    const kernel::probes::attempt native = either(outcome.as_mrcd.native, outcome.alone.native);
    const bool native_ends = !outcome.attached && !generic_last;
    of.findings.push_back(
        of.made_of("xdp_native", native,
                   {.severity = native_ends ? state::broken : state::slower,
                    .cost = native_ends ? end : "packets pass through the kernel's stack first: several times slower",
                    .remedy = remedy_for_native(of, outcome, native)}));
    const bool generic_ends = !outcome.attached && generic_last;
    of.findings.push_back(of.made_of("xdp_generic", either(outcome.as_mrcd.generic, outcome.alone.generic),
                                     {.severity = generic_ends ? state::broken : state::slower,
                                      .cost = generic_ends ? end : "no fall-back if the driver's own XDP fails",
                                      .remedy = {}}));
}

finding judge_redirect(const kernel::probes::attempt &redirect, const subject &of)
{
    const bool forced = of.config.transmit.engine == service::engine_kind::xdp;
    return of.made_of(
        "redirect", redirect,
        {.severity = forced ? state::broken : state::slower,
         .cost = forced ? "transmit.engine is 'xdp', and the kernel drops every packet that it sends"
                        : "packets leave by AF_XDP sockets instead, fewer of them per second",
         .remedy = of.driver == "veth" ? "ethtool -K PEER gro on  # PEER: the other end of the link" : ""});
}

// One finding for all queues that answer alike.
void judge_queues(const std::string &probe, const std::vector<kernel::probes::af_xdp_support> &queues,
                  kernel::probes::attempt kernel::probes::af_xdp_support::*tried, const lack &otherwise, subject &of)
{
    for (std::size_t first = 0; first < queues.size();) {
        const kernel::probes::attempt &one = queues[first].*tried;
        std::size_t end = first + 1;
        while (end < queues.size() && (queues[end].*tried).result == one.result &&
               (queues[end].*tried).text() == one.text())
            ++end;
        finding made = of.made_of(probe, one, otherwise);
        const std::string which =
            end - first == 1 ? fmt::format("queue {}", first) : fmt::format("queues {}-{}", first, end - 1);
        const bool says_more = !one.worked() && !made.found.empty();
        made.found = says_more ? fmt::format("{}: {}", which, made.found) : which;
        of.findings.push_back(std::move(made));
        first = end;
    }
}

void judge_af_xdp(const port_outcome &outcome, subject &of)
{
    judge_queues("af_xdp_copy", outcome.queues, &kernel::probes::af_xdp_support::copy,
                 {.cost = "mrcd ends at its start: it receives by AF_XDP sockets", .remedy = {}}, of);
    judge_queues("af_xdp_zero_copy", outcome.queues, &kernel::probes::af_xdp_support::zero_copy,
                 {.severity = state::slower,
                  .cost = "each packet is copied once more between driver and mrcd, on every port: their sockets share "
                          "one memory",
                  .remedy = {}},
                 of);
    judge_queues("af_xdp_multi_buffer", outcome.queues, &kernel::probes::af_xdp_support::multi_buffer,
                 {.severity = state::slower,
                  .cost = "payloads end at 3072 bytes, and ordinary sockets at what one buffer holds",
                  .remedy = {}},
                 of);
}

} // namespace

void judge_outcome(const port_outcome &outcome, subject &of)
{
    judge_xdp(outcome, of);
    if (outcome.redirect)
        of.findings.push_back(judge_redirect(*outcome.redirect, of));
    judge_af_xdp(outcome, of);
    if (outcome.agent_answers)
        of.findings.push_back(of.make(
            "xdp_tx", state::slower,
            of.driver + " drops what XDP_TX sends from zero-copy memory: known of the driver, not tried",
            {.cost = "mrcd's worker answers EV probes, not its XDP program: later when it is busy", .remedy = {}}));
}

} // namespace mrc::doctor
