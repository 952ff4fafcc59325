// SPDX-License-Identifier: Apache-2.0
#include "tools/peer_probe/setup_probe.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernel/probes/device.h"
#include "service/config/config.h"
#include "service/srv6_fabric.h"
#include "tools/hosts/lookup.h"
#include "tools/mrc-doctor/peer/peer.h"
#include "tools/peer_probe/peer_probe.h"
#include "tools/table/table.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;
using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds between_tries{300};
constexpr column columns[] = {{"PEER", "peer"},
                              {"PLANE", "plane"},
                              {"PORT", "port"},
                              {"SPEED", "speed_bps", column_unit::bitrate},
                              {"ANSWERED", "answered"},
                              {"OF", "sent"},
                              {"ROUND TRIP", "rtt_ns", column_unit::time}};

struct probed_peer {
    std::string name;
    std::string address;
    std::set<unsigned> shared; // planes that this host is on, too
    doctor::plane_probes planes = std::unexpected{std::string{}};

    [[nodiscard]] bool answers() const
    {
        return planes && std::ranges::all_of(shared, [&](unsigned plane) {
                   const auto found = planes->find(plane);
                   return found != planes->end() && found->second.answered == found->second.sent;
               });
    }
};

// By which it is known.
std::optional<mrc_ip> address_of(const service::host_entry &host)
{
    if (host.common)
        return host.common;
    const auto first = std::ranges::find_if(host.addresses, &std::optional<mrc_ip>::has_value);
    return first == host.addresses.end() ? std::nullopt : *first;
}

bool is_own(const service::daemon_config &config, const service::host_entry &host)
{
    return (host.common && service::is_same(*host.common, config.host.address)) ||
           std::ranges::any_of(config.ports, [&](const service::port_options &port) {
               const auto &listed = host.addresses[port.plane.value];
               return listed && port.address && service::is_same(*listed, *port.address);
           });
}

std::vector<probed_peer> listed_peers(const service::daemon_config &config, const std::vector<std::string> &wanted)
{
    std::vector<const service::host_entry *> chosen(wanted.empty() ? config.hosts.size() : wanted.size());
    if (wanted.empty())
        std::ranges::transform(config.hosts, chosen.begin(), [](const auto &host) { return &host; });
    else
        std::ranges::transform(wanted, chosen.begin(),
                               [&](const auto &peer) { return &doctor::find_peer(config, peer); });
    std::vector<probed_peer> peers;
    for (const service::host_entry *host : chosen) {
        const auto known_by = address_of(*host);
        if (!known_by || is_own(config, *host))
            continue;
        const std::string address = service::to_text(*known_by);
        probed_peer peer{.name = host->name.value_or(address), .address = address, .shared = {}};
        for (const service::port_options &port : config.ports)
            if (host->addresses[port.plane.value])
                peer.shared.insert(port.plane.value);
        peers.push_back(std::move(peer));
    }
    return peers;
}

// Of an SRv6 fabric, whose hosts are on all planes.
std::vector<probed_peer> named_peers(const service::daemon_config &config, const std::vector<std::string> &wanted)
{
    const service::srv6_fabric rules{config};
    std::vector<probed_peer> peers;
    for (const std::string &name : wanted) {
        const auto meant = tools::address_of_peer(name, config.daemon.instance);
        if (!meant)
            throw std::runtime_error{"--peer: " + meant.error()};
        const auto address = service::parse_ip(*meant);
        if (!address || !rules.host_of(*address))
            throw std::runtime_error{
                fmt::format("--peer: {} is no host of the fabric of {}", *meant, config.origin.file)};
        probed_peer peer{.name = name, .address = *meant, .shared = {}};
        for (const service::port_options &port : config.ports)
            peer.shared.insert(port.plane.value);
        peers.push_back(std::move(peer));
    }
    return peers;
}

std::vector<probed_peer> peers_of(const service::daemon_config &config, const std::vector<std::string> &wanted)
{
    if (config.fabric.mode == service::fabric_mode::direct)
        return listed_peers(config, wanted);
    if (wanted.empty())
        throw std::runtime_error{fmt::format("--probe: {} is in SRv6 mode, and lists no peers: --peer ADDRESS names "
                                             "one",
                                             config.origin.file)};
    return named_peers(config, wanted);
}

// Of a peer that does not answer.
std::string planes_without_answer(const probed_peer &peer)
{
    if (!peer.planes && !peer.planes.error().empty())
        return fmt::format("{}: {}", peer.name, peer.planes.error());
    std::vector<unsigned> silent;
    for (const unsigned plane : peer.shared)
        if (!peer.planes || !peer.planes->contains(plane) || peer.planes->at(plane).answered == 0)
            silent.push_back(plane);
    if (silent.empty())
        return fmt::format("{} does not answer on all paths", peer.name);
    return fmt::format("{} does not answer on plane{} {}", peer.name, silent.size() == 1 ? "" : "s",
                       fmt::join(silent, ", "));
}

bool all_answer(std::vector<probed_peer> &peers, const std::string &instance)
{
    bool all = true;
    for (probed_peer &peer : peers) {
        if (!peer.answers())
            peer.planes = probe_planes(instance, peer.address);
        all = peer.answers() && all;
    }
    return all;
}

json::array rows_of(const probed_peer &peer, const service::daemon_config &config)
{
    json::array rows;
    for (const service::port_options &port : config.ports) {
        if (!peer.planes)
            continue;
        const auto found = peer.planes->find(port.plane.value);
        if (found == peer.planes->end() || !peer.shared.contains(port.plane.value))
            continue;
        json::object row{{"peer", peer.name},    {"plane", port.plane.value},          {"port", port.device},
                         {"speed_bps", nullptr}, {"answered", found->second.answered}, {"sent", found->second.sent},
                         {"rtt_ns", nullptr}};
        if (const auto mbps = kernel::probes::link_speed_mbps(port.device))
            row["speed_bps"] = std::uint64_t{*mbps} * 1'000'000;
        if (found->second.answered > 0)
            row["rtt_ns"] = found->second.least_rtt_ns;
        rows.push_back(std::move(row));
    }
    return rows;
}

} // namespace

setup::probe_outcome probe_peers(const setup::setup_wish &wish)
{
    const std::string file = setup::config_file_of(wish);
    const auto config = service::load_config(file);
    if (!config)
        throw std::runtime_error{config.error().text()};
    std::vector<probed_peer> peers = peers_of(*config, wish.peers);
    if (peers.empty())
        throw std::runtime_error{fmt::format("--probe: {} has no peer with an address to probe", file)};
    const auto end = clock::now() + wish.longest;
    while (!all_answer(peers, config->daemon.instance) && clock::now() < end)
        std::this_thread::sleep_for(between_tries);
    if (std::ranges::none_of(peers, [](const probed_peer &peer) { return peer.planes.has_value(); }))
        throw std::runtime_error{
            fmt::format("{}; once it answers: {}", peers.front().planes.error(), setup::probe_command(wish))};
    setup::probe_outcome outcome;
    json::array rows;
    json::array troubles;
    std::string trouble_text;
    for (const probed_peer &peer : peers) {
        for (auto &row : rows_of(peer, *config))
            rows.push_back(std::move(row));
        if (peer.answers())
            continue;
        outcome.status = 1;
        if (config->fabric.mode != service::fabric_mode::direct) {
            const std::string trouble = planes_without_answer(peer);
            troubles.push_back(json::object{{"peer", peer.name}, {"found", trouble}});
            trouble_text += fmt::format("\n{}: is it set up, and does its mrcd run? mrcctl diagnose names a cable or a "
                                        "switch that is at fault\n",
                                        trouble);
            continue;
        }
        const doctor::peer_report report =
            doctor::examine_peer(*config, peer.name, [&](const std::string &) { return peer.planes; });
        troubles.push_back(doctor::to_json(report));
        trouble_text += "\n" + doctor::to_text(report);
    }
    outcome.next = outcome.status == 0 ? fmt::format("mrc-perf on {0}, then mrc-perf {0} here", peers.front().name)
                                       : "mend what is named, then " + setup::probe_command(wish);
    outcome.text = to_table(columns, rows) + trouble_text + fmt::format("\nNext: {}\n", outcome.next);
    outcome.view = {{"planes", std::move(rows)}, {"troubles", std::move(troubles)}, {"next", outcome.next}};
    return outcome;
}

} // namespace mrc::ctl
