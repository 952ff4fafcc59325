// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-doctor/srv6_peer.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "kernel/probes/device.h"
#include "service/srv6_fabric.h"
#include "tools/hosts/lookup.h"
#include "tools/mrcctl/diagnose/collect.h"
#include "tools/mrcctl/diagnose/diagnosis.h"
#include "tools/peer_probe/peer_probe.h"
#include "tools/setup/srv6/loop_line.h"

namespace mrc::doctor
{

namespace
{

using ctl::diagnose::cause;
using protocol::plane_index;
using service::host_place;

constexpr std::chrono::milliseconds longest_router_search{1500};
constexpr int tries = 3; // of loops

struct seat {
    plane_index plane;
    host_place place;
};

class srv6_examination
{
public:
    srv6_examination(const service::daemon_config &config, peer_report &to) : config_{config}, rules_{config}, to_{to}
    {
    }

    void run()
    {
        const plane_probes probes = ctl::probe_planes(config_.daemon.instance, to_.address);
        for (const service::port_options &port : config_.ports)
            if (kernel::probes::ifindex_of(port.device) == 0)
                add(port, "link", state::broken, "no such device here", "the plane carries nothing",
                    "ip -brief link  # shows the devices that there are");
            else if (!kernel::probes::is_running(port.device))
                add(port, "carrier", state::broken, "no carrier", "the plane carries nothing",
                    fmt::format("ip link set dev {} up  # and check the cable", port.device));
            else if (!probes || !answers(*probes, port))
                find_seat(port);
        if (probes)
            diagnose();
        for (const service::port_options &port : config_.ports)
            judge_probes(port, probes);
    }

private:
    void add(const service::port_options &port, std::string_view probe, state result, std::string found,
             std::string cost = {}, std::string remedy = {})
    {
        to_.findings.push_back({.where = scope::peer,
                                .probe = std::string{probe},
                                .on = port.device,
                                .result = result,
                                .found = std::move(found),
                                .cost = std::move(cost),
                                .remedy = std::move(remedy)});
    }

    static bool answers(const std::map<unsigned, probe_count> &probes, const service::port_options &port)
    {
        const auto of = probes.find(port.plane.value);
        return of != probes.end() && of->second.answered > 0;
    }

    [[nodiscard]] bool is_troubled(const std::string &device) const
    {
        return std::ranges::any_of(
            to_.findings, [&](const finding &each) { return each.on == device && each.result == state::broken; });
    }

    // Who answers on the link, and what place its loops come back from.
    void find_seat(const service::port_options &port)
    {
        setup::loop_line line{{port.device}};
        if (!line.find_routers(longest_router_search).empty()) {
            add(port, "leaf", state::broken, "no switch answers on the link (an echo request to ff02::2)",
                "the plane carries nothing: no leaf of an SRv6 fabric is there",
                fmt::format(
                    "# look at the cable and the leaf; if the network is none of switches that shift uSIDs, or {} "
                    "is in direct mode, both take [fabric] mode = \"direct\"",
                    to_.peer));
            return;
        }
        const auto found = seat_of(line, port);
        if (!found)
            return;
        const host_place own = rules_.self();
        if (found->plane != port.plane)
            add(port, "cabling", state::broken,
                fmt::format("leads to plane {} of the fabric, not to plane {}", found->plane.value, port.plane.value),
                "planes are cabled crosswise: no packet finds its switches",
                "# exchange the cables, or the planes of the ports in the configuration (mrcctl setup --srv6 does)");
        else
            add(port, "place", state::broken,
                fmt::format("is downlink {} of leaf {}, not downlink {} of leaf {}", found->place.downlink,
                            found->place.leaf, own.downlink, own.leaf),
                "what is sent to this host goes to whoever is at the other place",
                "# correct [host] leaf and downlink (mrcctl setup --srv6 does, once mrcd has ended), or the cable");
    }

    // One that is not the configured one and from which loops come back; those from that one an mrcd keeps.
    [[nodiscard]] std::optional<seat> seat_of(setup::loop_line &line, const service::port_options &port) const
    {
        const host_place own = rules_.self();
        const mrc_ip expected = carrier_of({.plane = port.plane, .place = own});
        std::vector<seat> seats;
        const auto add_other = [&](const seat &other) {
            if (!service::is_same(carrier_of(other), expected) && seats.size() < setup::loop_line::most_at_once)
                seats.push_back(other);
        };
        for (std::uint8_t plane = 0; plane < config_.fabric.planes; ++plane)
            add_other({.plane = plane_index{plane}, .place = own});
        for (std::uint32_t downlink = 0; downlink < config_.fabric.hosts_per_leaf; ++downlink)
            add_other({.plane = port.plane, .place = {.leaf = own.leaf, .downlink = downlink}});
        for (std::uint32_t leaf = 0; leaf < config_.fabric.leaves; ++leaf)
            add_other({.plane = port.plane, .place = {.leaf = leaf, .downlink = own.downlink}});
        std::vector<setup::loop_question> questions;
        questions.reserve(seats.size());
        for (const seat &each : seats)
            questions.push_back({.port = 0,
                                 .source = rules_.address_of(each.place, each.plane).value_or(mrc_ip{}),
                                 .carrier = carrier_of(each)});
        for (int round = 0; round < tries; ++round) {
            const std::vector<bool> came = line.ask(questions);
            if (const auto at = std::ranges::find(came, true); at != came.end())
                return seats[static_cast<std::size_t>(at - came.begin())];
        }
        return std::nullopt;
    }

    [[nodiscard]] mrc_ip carrier_of(const seat &of) const
    {
        const service::usid_plan &usids = rules_.usids();
        return usids.carrier({usids.leaf(of.plane, of.place.leaf), usids.host(of.plane, of.place.downlink)});
    }

    // What is named already explains what a diagnosis would say of the same port.
    void diagnose()
    {
        try {
            const ctl::host_maps maps{{.name = config_.daemon.instance, .pins = config_.daemon.pin_dir}};
            for (const auto &each :
                 ctl::diagnose::findings_of(ctl::diagnose::watch(maps, {.peer = to_.address, .seconds = 1})))
                if (const std::string on = device_of(each); each.is_fault && !is_troubled(on))
                    to_.findings.push_back(finding_of(each, on));
        } catch (const std::runtime_error &error) {
            to_.findings.push_back({.where = scope::peer,
                                    .probe = "diagnosis",
                                    .on = "host",
                                    .result = state::untried,
                                    .found = error.what(),
                                    .cost = {},
                                    .remedy = {}});
        }
    }

    [[nodiscard]] std::string device_of(const ctl::diagnose::diagnosis_finding &of) const
    {
        const auto port = std::ranges::find(config_.ports, of.plane, [](const auto &each) { return each.plane.value; });
        if (!of.device.empty() || port == config_.ports.end())
            return of.device.empty() ? "host" : of.device;
        return port->device;
    }

    static finding finding_of(const ctl::diagnose::diagnosis_finding &of, const std::string &on)
    {
        const bool is_whole = of.loss >= 1 || of.what == cause::daemon || of.what == cause::peer_down;
        return {.where = scope::peer,
                .probe = std::string{ctl::diagnose::name_of(of.what)},
                .on = on,
                .result = is_whole ? state::broken : state::slower,
                .found = fmt::format("{} ({})", of.sentence, of.evidence),
                .cost = is_whole ? "what goes that way does not arrive" : "what goes that way is late, or sent again",
                .remedy = "# " + of.advice};
    }

    void judge_probes(const service::port_options &port, const plane_probes &probes)
    {
        if (is_troubled(port.device))
            return;
        if (!probes) {
            add(port, "mrc", state::untried, fmt::format("no MRC probes were sent: {}", probes.error()));
            return;
        }
        const auto at = probes->find(port.plane.value);
        const probe_count of = at == probes->end() ? probe_count{} : at->second;
        const std::string found = fmt::format("{} of {} probes are answered", of.answered, of.sent);
        if (of.answered == of.sent && of.sent > 0)
            add(port, "mrc", state::works,
                fmt::format("{}, {:.0f} us", found, static_cast<double>(of.least_rtt_ns) / 1000));
        else if (of.answered > 0)
            add(port, "mrc", state::slower, found, "some paths of the plane lose packets",
                "mrcctl diagnose " + to_.address);
        else if (!is_troubled("host"))
            add(port, "mrc", state::broken, found, "nothing reaches the peer by this plane, or nothing comes back",
                fmt::format("mrcctl diagnose {} --seconds 5  # and on {}: mrcctl port list", to_.address, to_.peer));
    }

    const service::daemon_config &config_;
    service::srv6_fabric rules_;
    peer_report &to_;
};

} // namespace

peer_report examine_srv6_peer(const service::daemon_config &config, const std::string &peer)
{
    const service::srv6_fabric rules{config};
    const auto meant = tools::address_of_peer(peer, config.daemon.instance);
    if (!meant)
        throw std::runtime_error{"--peer: " + meant.error()};
    const auto address = service::parse_ip(*meant);
    if (!address || !rules.host_of(*address))
        throw std::runtime_error{
            fmt::format("--peer: {} is no host of the fabric of {}; allowed: an address of one, as "
                        "{} for this one, or a name",
                        *meant, config.origin.file, service::to_text(rules.address_of(rules.self())))};
    peer_report report{
        .peer = peer, .address = *meant, .planes = static_cast<unsigned>(config.ports.size()), .findings = {}};
    srv6_examination{config, report}.run();
    return report;
}

} // namespace mrc::doctor
