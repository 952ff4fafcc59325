// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-doctor/peer/peer.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernel/probes/device.h"
#include "service/ports/own_addresses.h"
#include "session/host_names.h"
#include "tools/hosts/lookup.h"
#include "tools/mrc-doctor/peer/judgement.h"
#include "tools/mrc-doctor/peer/link_questions.h"

namespace mrc::doctor
{

namespace
{

std::string address_of(const service::host_entry &host)
{
    if (host.common)
        return service::to_text(*host.common);
    for (const std::optional<mrc_ip> &each : host.addresses)
        if (each)
            return service::to_text(*each);
    return {};
}

bool has_address(const service::host_entry &host, const mrc_ip &address)
{
    return (host.common && service::is_same(*host.common, address)) ||
           std::ranges::any_of(host.addresses,
                               [&](const auto &each) { return each && service::is_same(*each, address); });
}

void find_own(service::daemon_config &config)
{
    const auto known = service::read_device_addresses();
    if (!known)
        throw std::runtime_error{"cannot read the addresses of the ports: " + known.error().message()};
    if (const auto found = service::find_own_addresses(config, *known); !found)
        throw std::runtime_error{found.error()};
}

// Both hosts have an IPv6 address there, and this one the device. Other planes are told of in `to`.
std::vector<plane_way> ways_to(const service::daemon_config &config, const service::host_entry &host,
                               std::vector<finding> &to)
{
    std::vector<plane_way> ways;
    for (const service::port_options &port : config.ports) {
        const auto &far = host.addresses[port.plane.value];
        const auto own = port.address ? port.address : port.own_address;
        const bool is_there = kernel::probes::ifindex_of(port.device) != 0;
        if (!far)
            continue;
        if (is_there && own && !service::is_ipv4(*own))
            ways.push_back({.plane = port.plane.value,
                            .device = port.device,
                            .mtu = kernel::probes::mtu_of(port.device),
                            .own = *own,
                            .far = *far});
        else
            to.push_back({.where = scope::peer,
                          .probe = "link",
                          .on = port.device,
                          .result = is_there ? state::untried : state::broken,
                          .found = is_there ? "planes of IPv4 are not examined" : "no such device here",
                          .cost = is_there ? "" : "the plane carries nothing",
                          .remedy = is_there ? "" : "ip -brief link  # shows the devices that there are"});
    }
    return ways;
}

} // namespace

bool peer_report::is_reached() const
{
    return std::ranges::none_of(findings, [](const finding &each) { return each.result == state::broken; });
}

const service::host_entry &find_peer(const service::daemon_config &config, const std::string &peer)
{
    for (const service::host_entry &host : config.hosts)
        if (host.name && session::is_same_name(*host.name, peer))
            return host;
    // A name that only the hosts file of the daemon has.
    const auto meant = tools::address_of_peer(peer, config.daemon.instance);
    const auto address = meant ? service::parse_ip(*meant) : std::nullopt;
    for (const service::host_entry &host : config.hosts)
        if (address && has_address(host, *address))
            return host;
    std::vector<std::string> known;
    known.reserve(config.hosts.size());
    for (const service::host_entry &host : config.hosts)
        known.push_back(host.name.value_or(address_of(host)));
    throw std::runtime_error{fmt::format("--peer: '{}' is no [[peer]] of {}; allowed: {}, by name or address", peer,
                                         config.origin.file, fmt::join(known, ", "))};
}

peer_report examine_peer(service::daemon_config config, const std::string &peer, const peer_prober &probe)
{
    const service::host_entry host = find_peer(config, peer);
    find_own(config);
    peer_report report{.peer = peer, .address = address_of(host), .planes = 0, .findings = {}};
    const std::vector<plane_way> ways = ways_to(config, host, report.findings);
    report.planes = static_cast<unsigned>(ways.size());
    if (ways.empty() && report.findings.empty())
        throw std::runtime_error{fmt::format("--peer: {} and this host have no plane in common", peer)};
    std::vector<peer_plane_evidence> planes = ask_links(ways);
    const plane_probes counts = probe(report.address);
    for (peer_plane_evidence &plane : planes)
        if (!counts)
            plane.unprobed = counts.error();
        else if (const auto count = counts->find(plane.way.plane); count != counts->end())
            plane.probes = count->second;
    std::ranges::move(judge_peer(peer, planes), std::back_inserter(report.findings));
    return report;
}

std::string to_text(const peer_report &of)
{
    std::set<std::string> troubled;
    for (const finding &each : of.findings)
        if (each.result == state::broken)
            troubled.insert(each.on);
    std::string text = fmt::format("peer {} ({})\n\n", of.peer, of.address) + findings_text(of.findings) + '\n';
    if (of.is_reached())
        return text + fmt::format("{} is reached on {} plane{}\n", of.peer, of.planes, of.planes == 1 ? "" : "s");
    return text + fmt::format("{} is not reached as it should be: {}\n", of.peer, fmt::join(troubled, ", "));
}

boost::json::object to_json(const peer_report &of)
{
    return {{"peer", of.peer},
            {"address", of.address},
            {"planes", of.planes},
            {"reached", of.is_reached()},
            {"findings", findings_json(of.findings)}};
}

} // namespace mrc::doctor
