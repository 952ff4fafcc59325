// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc_doctor_ports.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "datapath/probes/af_xdp.h"
#include "datapath/probes/bpf_objects.h"
#include "datapath/probes/device.h"
#include "datapath/probes/port.h"
#include "service/port_modes.h"
#include "service/port_plan.h"

namespace mrc::doctor
{

namespace
{

namespace probes = datapath::probes;

// Everything about one port that the findings need.
struct subject {
    const service::daemon_config &config;
    const service::port_options &port;
    std::string device;
    int ifindex = 0;
    std::uint32_t mtu = 0;
    std::string driver;
    std::uint32_t queues = 1; // that would get a socket
    bool multi_buffer = false;
    bool taken = false; // by another's program: nothing is tried that would disturb it
    std::vector<finding> findings;

    [[nodiscard]] finding make(std::string probe, state result, std::string found, lack otherwise = {}) const
    {
        const bool trouble = result == state::slower || result == state::broken;
        return {.where = scope::port,
                .probe = std::move(probe),
                .on = device,
                .result = result,
                .found = std::move(found),
                .cost = trouble ? std::move(otherwise.cost) : std::string{},
                .mend = trouble ? std::move(otherwise.mend) : std::string{}};
    }
    [[nodiscard]] finding made_of(std::string probe, const probes::attempt &result, lack otherwise) const
    {
        return judge(scope::port, std::move(probe), device, result, std::move(otherwise));
    }
};

finding examine_link(const subject &of)
{
    if (probes::is_running(of.device))
        return of.make("link", state::works, of.driver.empty() ? "up" : of.driver + ", up");
    return of.make("link", state::slower, "down, or no carrier",
                   {.cost = "the port's plane carries nothing until the link is up",
                    .mend = fmt::format("ip link set dev {} up", of.device)});
}

// What `auto` would be on a port of any MTU, or what is configured.
std::uint32_t wanted_payload(const service::daemon_config &config)
{
    constexpr std::uint32_t largest_of_verbs = 2048; // that fits one live frame
    const bool verbs = config.peers.payload == service::payload_sizes::verbs;
    return config.transmit.payload.value_or(verbs ? largest_of_verbs : service::live_frame_payload);
}

finding examine_mtu(const subject &of)
{
    const std::uint32_t wanted = wanted_payload(of.config);
    const std::uint32_t room = service::payload_room(of.mtu);
    const std::string found =
        fmt::format("MTU {}, {} of {} bytes of payload a packet", of.mtu, std::min(room, wanted), wanted);
    const std::string mend = fmt::format("ip link set dev {} mtu {}", of.device, wanted + service::packet_overhead);
    if (room >= wanted)
        return of.make("mtu", state::works, found);
    if (room < service::smallest_payload || of.config.transmit.payload)
        return of.make("mtu", state::broken, found,
                       {.cost = "mrcd ends at its start: packets of this payload do not fit the port", .mend = mend});
    return of.make("mtu", state::slower, found,
                   {.cost = "smaller packets on all ports, so more of them for the same data", .mend = mend});
}

std::string mend_for_native(const subject &of, const probes::attempt &native)
{
    const probes::offloads offloads = probes::offloads_of(of.device);
    if (offloads.large_receive)
        return fmt::format("ethtool -K {} lro off", of.device);
    if (native.error != EOPNOTSUPP && of.mtu > service::single_buffer_mtu)
        return fmt::format("ip link set dev {} mtu {}", of.device, service::single_buffer_mtu);
    if (native.error == ENOSPC && of.driver == "veth")
        return fmt::format("ethtool -L {} rx 16", of.device); // as many as the other end has transmit queues, or more
    return {};
}

void examine_xdp(subject &of, const probes::xdp_support &xdp)
{
    using enum service::attach_mode;
    const service::attach_mode wanted = of.port.mode;
    const bool native_needed = wanted == native || (wanted == automatic && !xdp.generic.worked());
    of.findings.push_back(
        of.made_of("xdp_native", xdp.native,
                   {.severity = native_needed ? state::broken : state::slower,
                    .cost = native_needed ? "mrcd ends at its start: it cannot attach its receive program"
                                          : "packets pass through the kernel's stack first: several times slower",
                    .mend = mend_for_native(of, xdp.native)}));
    const bool generic_needed = wanted == generic;
    of.findings.push_back(
        of.made_of("xdp_generic", xdp.generic,
                   {.severity = generic_needed ? state::broken : state::slower,
                    .cost = generic_needed ? "mrcd ends at its start: it cannot attach its receive program"
                                           : "no fall-back if the driver's own XDP fails",
                    .mend = {}}));
}

finding examine_redirect(const subject &of, const probes::attempt &redirect)
{
    const bool forced = of.config.transmit.engine == service::transmit_engine::xdp;
    return of.made_of("redirect", redirect,
                      {.severity = forced ? state::broken : state::slower,
                       .cost = forced ? "transmit.engine is 'xdp', and the kernel drops every packet that it sends"
                                      : "packets leave by AF_XDP sockets instead, fewer of them per second",
                       .mend = of.driver == "veth" ? "ethtool -K PEER gro on  # PEER: the other end of the link" : ""});
}

// One finding for all queues that answer alike.
void add_by_queues(subject &of, const std::string &probe, const std::vector<probes::attempt> &queues,
                   const lack &otherwise)
{
    for (std::size_t first = 0; first < queues.size();) {
        std::size_t end = first + 1;
        while (end < queues.size() && queues[end].result == queues[first].result &&
               queues[end].text() == queues[first].text())
            ++end;
        finding made = of.made_of(probe, queues[first], otherwise);
        const std::string which =
            end - first == 1 ? fmt::format("queue {}", first) : fmt::format("queues {}-{}", first, end - 1);
        const bool says_more = !queues[first].worked() && !made.found.empty();
        made.found = says_more ? fmt::format("{}: {}", which, made.found) : which;
        of.findings.push_back(std::move(made));
        first = end;
    }
}

void examine_af_xdp(subject &of)
{
    std::vector<probes::attempt> copy;
    std::vector<probes::attempt> zero_copy;
    std::vector<probes::attempt> multi_buffer;
    for (std::uint32_t queue = 0; queue < of.queues; ++queue) {
        probes::af_xdp_support support = probes::try_af_xdp_queue(of.ifindex, queue);
        copy.push_back(std::move(support.copy));
        zero_copy.push_back(std::move(support.zero_copy));
        multi_buffer.push_back(std::move(support.multi_buffer));
    }
    const bool several_needed = wanted_payload(of.config) > service::live_frame_payload;
    add_by_queues(of, "af_xdp_copy", copy,
                  {.cost = "mrcd ends at its start: it receives by AF_XDP sockets", .mend = {}});
    add_by_queues(of, "af_xdp_zero_copy", zero_copy,
                  {.severity = state::slower,
                   .cost =
                       "each packet is copied once more between driver and mrcd, on every port: their sockets share "
                       "one memory",
                   .mend = {}});
    add_by_queues(of, "af_xdp_multi_buffer", multi_buffer,
                  {.severity = several_needed ? state::broken : state::slower,
                   .cost = several_needed
                               ? "mrcd ends at its start: packets of the configured payload take several buffers"
                               : "payloads end at 3072 bytes, and ordinary sockets at what one buffer holds",
                   .mend = {}});
}

void examine_offloads(subject &of)
{
    const probes::offloads found = probes::offloads_of(of.device);
    const bool unfinished = of.driver == "veth" && (found.transmit_checksum || found.segmentation);
    of.findings.push_back(
        of.make("checksum_offload", unfinished ? state::slower : state::works,
                fmt::format("checksums {}, segmentation {}", found.transmit_checksum ? "on" : "off",
                            found.segmentation ? "on" : "off"),
                {.cost = "nobody computes the checksums of ordinary sockets over mrcnet0 where an XDP program forwards "
                         "their packets, and receivers drop them; MRC itself is not touched",
                 .mend = fmt::format("ethtool -K {} tx off", of.device)}));
    of.findings.push_back(
        of.make("receive_offload", found.large_receive ? state::slower : state::works,
                fmt::format("LRO {}, GRO {}", found.large_receive ? "on" : "off", found.generic_receive ? "on" : "off"),
                {.cost = "the NIC joins packets before XDP sees them; most drivers refuse native XDP then",
                 .mend = fmt::format("ethtool -K {} lro off", of.device)}));
}

// Where fewer queues are served than there are, packets must be kept off the others.
finding examine_steering(const subject &of)
{
    const std::uint32_t all = probes::receive_queues(of.device);
    const std::vector<std::uint32_t> table = probes::rss_table(of.device);
    const std::string found =
        fmt::format("{} of {} queues served, {}, ntuple filters {}", of.queues, all,
                    table.empty() ? "no RSS table" : fmt::format("RSS to {}", std::ranges::max(table) + 1),
                    probes::offloads_of(of.device).ntuple_filters ? "on" : "off");
    const std::string kind = of.driver == "veth" ? "rx" : "combined";
    if (!of.port.queues && all > MRC_MAX_QUEUES)
        return of.make(
            "receive_steering", state::broken, found,
            {.cost = fmt::format("mrcd ends at its start: it serves {} queues of a port at most", MRC_MAX_QUEUES),
             .mend = fmt::format("ethtool -L {} {} {}", of.device, kind, MRC_MAX_QUEUES)});
    const bool kept_off = !table.empty() && std::ranges::max(table) < of.queues;
    if (of.queues >= all || kept_off)
        return of.make("receive_steering", state::works, found);
    return of.make("receive_steering", state::broken, found,
                   {.cost = "MRC packets that arrive on the other queues are dropped",
                    .mend = table.empty() ? fmt::format("ethtool -L {} {} {}", of.device, kind, of.queues)
                                          : fmt::format("ethtool -X {} equal {}", of.device, of.queues)});
}

// A program that is there already: mrcd's own, or one that keeps mrcd out.
bool is_taken(subject &of)
{
    const auto holder = probes::xdp_holder(of.ifindex);
    if (!holder)
        return false;
    if (holder->find("host_rx") != std::string::npos) {
        of.findings.push_back(of.make("xdp_native", state::untried, "in use by a running mrcd: " + *holder));
        return true;
    }
    const std::string_view kind = holder->starts_with("generic") ? "xdpgeneric" : "xdp";
    of.findings.push_back(of.make("xdp_native", state::broken, "in use by another: " + *holder,
                                  {.cost = "mrcd ends at its start: a port has room for one XDP program",
                                   .mend = fmt::format("ip link set dev {} {} off", of.device, kind)}));
    return true;
}

std::uint32_t served(const service::port_options &port)
{
    return std::min<std::uint32_t>(port.queues.value_or(probes::receive_queues(port.device)), MRC_MAX_QUEUES);
}

std::vector<subject> subjects(const service::daemon_config &config)
{
    const bool several_possible = probes::try_multi_buffer_program().worked();
    const auto wants_several = [](const service::port_options &port) {
        return probes::mtu_of(port.device) > service::single_buffer_mtu;
    };
    const bool multi_buffer = several_possible && std::ranges::any_of(config.ports, wants_several);
    std::vector<subject> ports;
    ports.reserve(config.ports.size());
    for (const service::port_options &port : config.ports)
        ports.push_back({.config = config,
                         .port = port,
                         .device = port.device,
                         .ifindex = probes::ifindex_of(port.device),
                         .mtu = probes::mtu_of(port.device),
                         .driver = probes::driver_of(port.device),
                         .queues = served(port),
                         .multi_buffer = multi_buffer,
                         .findings = {}});
    return ports;
}

void add_mode(subject &of, const service::host_modes &all, const service::port_modes &chosen, report &to)
{
    to.modes.push_back({.port = of.device,
                        .xdp = chosen.attachment.native ? "native" : "generic",
                        .transmit = chosen.uses_xdp() ? "xdp" : "af_xdp",
                        .af_xdp = all.force_copy ? "copy" : "zero copy",
                        .buffers = of.multi_buffer && all.single_buffer.empty() ? "several" : "one",
                        .reason = chosen.transmit.reason});
    if (chosen.agent_answers)
        of.findings.push_back(of.make(
            "xdp_tx", state::slower,
            of.driver + " drops what XDP_TX sends from zero-copy memory: known of the driver, not tried",
            {.cost = "mrcd's worker answers EV probes, not its XDP program: later when it is busy", .mend = {}}));
}

// As mrcd would choose, with the same probes, for the ports that are there and free.
void examine_modes(const service::daemon_config &config, std::vector<subject> &ports, report &to)
{
    std::optional<probes::live_frames> frames;
    if (config.transmit.engine != service::transmit_engine::af_xdp)
        frames.emplace(true);
    std::vector<subject *> free;
    std::vector<probes::port_wish> wishes;
    for (subject &port : ports)
        if (port.ifindex != 0 && !port.taken) {
            free.push_back(&port);
            wishes.push_back({.device = port.device,
                              .ifindex = port.ifindex,
                              .mode = service::xdp_mode_of(port.port.mode),
                              .queues = port.queues,
                              .multi_buffer = port.multi_buffer});
        }
    service::port_trials tried = service::try_ports(std::move(wishes), frames ? &*frames : nullptr);
    for (std::size_t i = 0; i < free.size(); ++i) {
        free[i]->findings.push_back(examine_redirect(*free[i], tried.ports[i].abilities.redirect));
        if (tried.ports[i].abilities.attachment.attached())
            examine_af_xdp(*free[i]); // with a program on the port, which some drivers ask for
    }
    const service::host_modes modes =
        service::settle_modes(config.transmit.engine, std::move(tried), frames ? frames->possible() : probes::worked());
    for (std::size_t i = 0; i < free.size(); ++i)
        if (modes.ports[i].attachment.attached())
            add_mode(*free[i], modes, modes.ports[i], to);
}

} // namespace

std::uint32_t queues_of(const service::daemon_config &config)
{
    std::uint32_t sum = 0;
    for (const service::port_options &port : config.ports)
        sum += served(port);
    return std::max<std::uint32_t>(sum, 1);
}

void examine_ports(const service::daemon_config &config, report &to)
{
    std::vector<subject> ports = subjects(config);
    for (subject &of : ports) {
        if (of.ifindex == 0) {
            of.findings.push_back(of.make(
                "link", state::broken, "no such device here",
                {.cost = "mrcd ends at its start", .mend = "ip -brief link  # shows the devices that there are"}));
            continue;
        }
        of.findings.push_back(examine_link(of));
        of.findings.push_back(examine_mtu(of));
        of.taken = is_taken(of);
        if (!of.taken)
            examine_xdp(of, probes::try_xdp(of.ifindex, of.multi_buffer));
    }
    examine_modes(config, ports, to);
    for (subject &of : ports) {
        if (of.ifindex != 0) {
            examine_offloads(of);
            of.findings.push_back(examine_steering(of));
        }
        std::ranges::move(of.findings, std::back_inserter(to.findings));
    }
}

} // namespace mrc::doctor
