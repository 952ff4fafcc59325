// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/collect.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "service/address.h"
#include "tools/mrcctl/diagnose/diagnosis.h"
#include "tools/mrcctl/diagnose/evidence.h"
#include "tools/mrcctl/diagnose/history.h"
#include "tools/mrcctl/diagnose/path_probes.h"
#include "tools/mrcctl/diagnose/peers.h"
#include "tools/mrcctl/diagnose/round_trips.h"
#include "tools/mrcctl/error.h"
#include "tools/mrcctl/events.h"
#include "tools/mrcctl/fabric.h"
#include "tools/mrcctl/json_values.h"
#include "tools/mrcctl/process.h"
#include "tools/mrcctl/rates.h"

namespace mrc::ctl::diagnose
{

namespace
{

constexpr std::uint32_t most_echo_rounds = 4;
constexpr travel_pace echo_pace{.seconds = 1, .most_of_route = 2000};
constexpr std::uint32_t headers_on_fabric = 132; // of a full data packet, from the outer IP header on
constexpr std::uint32_t headers_on_direct = 92;

daemon_seen daemon_now(const host_maps &maps)
{
    const daemon_process daemon = look_at_daemon(maps.host());
    return {.alive = daemon.alive, .stopped = daemon.state == "stopped", .pid = daemon.pid};
}

using path_rows = std::map<std::uint32_t, std::pair<mrc_path_row, mrc_signal_row>>;

path_rows paths_to(const host_maps &maps, const std::vector<peer_place> &peers)
{
    path_rows rows;
    for (const peer_place &peer : peers) {
        const std::uint32_t end = peer.row.group_base + std::uint32_t{peer.row.planes} * peer.row.uplinks;
        for (std::uint32_t number = peer.row.group_base; number < std::min(end, maps.paths().size()); ++number)
            rows[number] = {maps.paths()[number], maps.signals()[number]};
    }
    return rows;
}

void add_paths(snapshot &to, const path_rows &before, const path_rows &after)
{
    for (const auto &[number, now] : after) {
        const auto &then = before.at(number);
        to.paths.push_back({.plane = now.first.plane,
                            .leaf = now.first.group,
                            .uplink = now.first.uplink,
                            .tx_packets = grown(then.first.tx_packets, now.first.tx_packets),
                            .losses = grown(then.first.losses, now.first.losses),
                            .acks = grown(then.second.acks, now.second.acks),
                            .echoes = grown(then.second.ce_echoes + then.second.trim_echoes,
                                            now.second.ce_echoes + now.second.trim_echoes)});
    }
}

client_seen client_of(const client_table &clients, std::uint32_t session)
{
    const auto found = clients.find(session);
    if (found == clients.end())
        return {.session = session, .pid = 0, .command = {}};
    return {.session = session, .pid = found->second.pid, .command = std::string{text_in(found->second.command)}};
}

// With the time in which it has waited since limit_since_ns, which limited_… do not have yet.
std::array<std::uint64_t, limits> waits_of(const mrc_qp_row &qp, std::uint64_t now_ns)
{
    std::array<std::uint64_t, limits> waits{};
    waits[MRC_LIMIT_APPLICATION] = qp.limited_application_ns;
    waits[MRC_LIMIT_WORKER] = qp.limited_worker_ns;
    waits[MRC_LIMIT_RECEIVER] = qp.limited_receiver_ns;
    waits[MRC_LIMIT_CONGESTION] = qp.limited_congestion_ns;
    waits[MRC_LIMIT_LOSS] = qp.limited_loss_ns;
    waits[MRC_LIMIT_PATHS] = qp.limited_paths_ns;
    waits[MRC_LIMIT_MEMORY] = qp.limited_memory_ns;
    if (qp.limit != MRC_LIMIT_NOTHING && qp.limit < limits && now_ns > qp.limit_since_ns)
        waits[qp.limit] += now_ns - qp.limit_since_ns;
    return waits;
}

qp_seen qp_between(const host_maps &maps, const mrc_qp_row &then, const mrc_qp_row &now, const sample &before,
                   const sample &after)
{
    qp_seen qp{.qpn = now.qpn, .peer = service::to_text(now.peer)};
    if (const auto peer = maps.peer(now.peer))
        qp.leaf = maps.paths()[peer->group_base].group;
    const auto waited_before = waits_of(then, before.time_ns);
    const auto waited_after = waits_of(now, after.time_ns);
    for (std::size_t limit = 0; limit < limits; ++limit)
        qp.waited_ns[limit] = grown(waited_before[limit], waited_after[limit]);
    qp.tx_bytes = grown(then.tx_bytes, now.tx_bytes);
    qp.tx_packets = grown(then.tx_packets, now.tx_packets);
    qp.rx_bytes = grown(then.rx_bytes, now.rx_bytes);
    qp.rx_packets = grown(then.rx_packets, now.rx_packets);
    qp.rx_marked = grown(then.rx_congested + then.rx_trimmed, now.rx_congested + now.rx_trimmed);
    qp.rx_no_receive = grown(then.rx_no_receive, now.rx_no_receive);
    qp.penalties = grown(then.penalties, now.penalties);
    return qp;
}

void add_queue_pairs(snapshot &to, const host_maps &maps, const sample &before, const sample &after)
{
    const client_table clients = maps.clients();
    for (const auto &[qpn, now] : after.qps) {
        const auto then = before.qps.find(qpn);
        if (then == before.qps.end())
            continue;
        qp_seen qp = qp_between(maps, then->second, now, before, after);
        qp.client = client_of(clients, now.session);
        to.qps.push_back(std::move(qp));
    }
}

void add_ports(snapshot &to, const sample &before, const sample &after)
{
    for (std::uint32_t plane = 0; plane < MRC_MAX_PORTS; ++plane) {
        const mrc_port_row &row = after.ports[plane];
        if (row.device[0] == '\0')
            continue;
        const bool usable = (row.flags & MRC_PORT_USABLE) == MRC_PORT_USABLE && row.reason == MRC_PORT_IN_USE;
        to.ports.push_back(
            {.plane = plane,
             .device = std::string{text_in(row.device)},
             .usable = usable,
             .reason = row.reason < MRC_PORT_REASON_COUNT ? static_cast<mrc_port_reason>(row.reason) : MRC_PORT_IN_USE,
             .mtu = row.mtu,
             .rx_packets = grown(before.ports[plane].rx_packets, row.rx_packets)});
    }
}

void add_trips(snapshot &to, const host_maps &maps, const route_plan &plan, const std::vector<peer_place> &peers,
               double seconds)
{
    to.own_leaf = plan.own_leaf;
    try {
        to.trips = travel(maps, plan.routes, {.seconds = seconds});
    } catch (const ctl_error &error) {
        to.unprobed = error.what();
    }
    if (to.daemon.stopped || !to.daemon.alive) {
        to.unprobed = to.unprobed.empty() ? "mrcd cannot be asked for EV probes" : to.unprobed;
        return;
    }
    try {
        const path_probe_results probed = probe_paths(maps, peers);
        to.trips.insert(probed.trips.begin(), probed.trips.end());
        if (!probed.complaint.empty())
            to.unprobed = probed.complaint;
    } catch (const ctl_error &error) {
        to.unprobed = error.what();
    }
}

// Which way a link loses packets takes more of them than that it does: where the answers to echoes lose some, too, by
// the very link when they come over it, many more.
void add_echoes(snapshot &to, const host_maps &maps, route_plan plan)
{
    std::erase_if(plan.routes, [](const trip_route &one) { return one.key.kind != trip_kind::echo; });
    const auto answered = [&] { return sum_of(to, trip_kind::echo, [](const trip_key &) { return true; }).back != 0; };
    for (std::uint32_t round = 0; round < most_echo_rounds && answered() && lacks_direction(findings_of(to)); ++round)
        for (const auto &[key, result] : travel(maps, plan.routes, echo_pace))
            to.trips[key].small += result.small;
}

} // namespace

snapshot watch(const host_maps &maps, const watch_options &options)
{
    const chosen_peers chosen = choose_peers(maps, options.peer);
    const std::vector<peer_place> &peers = chosen.peers;
    snapshot seen;
    seen.daemon = daemon_now(maps);
    seen.direct = !peers.empty() && maps.paths()[peers.front().row.group_base].kind == MRC_CARRIER_DIRECT;
    seen.packet_bytes = maps.host().payload_bytes + (seen.direct ? headers_on_direct : headers_on_fabric);
    const sample before = take_sample(maps);
    const path_rows paths_before = paths_to(maps, peers);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                            std::chrono::duration<double>{options.seconds});
    const route_plan plan = plan_routes(maps, peers);
    add_trips(seen, maps, plan, peers, options.seconds);
    std::this_thread::sleep_until(end);
    seen.daemon = daemon_now(maps);
    const sample after = take_sample(maps);
    add_ports(seen, before, after);
    for (const peer_place &peer : peers)
        seen.peers.push_back(
            {.address = service::to_text(peer.address), .leaf = maps.paths()[peer.row.group_base].group});
    seen.watched_ns = after.time_ns - before.time_ns;
    add_paths(seen, paths_before, paths_to(maps, peers));
    add_queue_pairs(seen, maps, before, after);
    seen.faults = named_faults_of(maps);
    const std::vector<mrc_event_row> events = event_reader{maps.of()}.take();
    add_history(seen, events, after.time_ns);
    if (chosen.left_out != 0 && seen.unprobed.empty())
        seen.unprobed = fmt::format("{} more hosts are known; name one to look at it", chosen.left_out);
    try {
        add_echoes(seen, maps, plan);
    } catch (const ctl_error &error) {
        seen.unprobed = error.what();
    }
    return seen;
}

} // namespace mrc::ctl::diagnose
