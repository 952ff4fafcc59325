// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/views.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "kernel/map_names.h"
#include "kernel/monotonic_clock.h"
#include "service/address.h"
#include "tools/mrcctl/error.h"
#include "tools/mrcctl/json_values.h"
#include "tools/mrcctl/peers.h"
#include "tools/mrcctl/workers.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

json::value mac_or_null(const __u8 (&bytes)[6])
{
    service::mac_address mac{};
    std::ranges::copy(bytes, mac.begin());
    return mac == service::mac_address{} ? json::value(nullptr) : json::value(json_text(service::to_text(mac)));
}

// Whose queue pair it is; null: of a client that has just gone, or is not listed.
json::value owner_or_null(const client_table &clients, const mrc_qp_row &qp)
{
    const auto found = clients.find(qp.session);
    if (found == clients.end())
        return nullptr;
    const mrc_client_row &row = found->second;
    return json::object{{"pid", row.pid}, {"uid", row.uid}, {"command", text_in(row.command)}};
}

json::value time_or_null(std::uint64_t value)
{
    return value == 0 ? json::value(nullptr) : json::value(value);
}

constexpr std::array all_qp_counters{
    qp_counter{"tx_packets", &mrc_qp_row::tx_packets},
    qp_counter{"tx_bytes", &mrc_qp_row::tx_bytes},
    qp_counter{"rx_packets", &mrc_qp_row::rx_packets},
    qp_counter{"rx_bytes", &mrc_qp_row::rx_bytes},
    qp_counter{"retransmits", &mrc_qp_row::retransmits},
    qp_counter{"spurious", &mrc_qp_row::spurious},
    qp_counter{"timeouts", &mrc_qp_row::timeouts},
    qp_counter{"losses", &mrc_qp_row::losses},
    qp_counter{"losses_by_age", &mrc_qp_row::losses_by_age},
    qp_counter{"losses_by_sleek", &mrc_qp_row::losses_by_sleek},
    qp_counter{"silences", &mrc_qp_row::silences},
    qp_counter{"nacks", &mrc_qp_row::nacks},
    qp_counter{"sacks_sent", &mrc_qp_row::sacks_sent},
    qp_counter{"sacks_received", &mrc_qp_row::sacks_received},
    qp_counter{"rx_duplicates", &mrc_qp_row::rx_duplicates},
    qp_counter{"rx_out_of_window", &mrc_qp_row::rx_out_of_window},
    qp_counter{"rx_trimmed", &mrc_qp_row::rx_trimmed},
    qp_counter{"rx_congested", &mrc_qp_row::rx_congested},
    qp_counter{"rx_refused", &mrc_qp_row::rx_refused},
    qp_counter{"rx_malformed", &mrc_qp_row::rx_malformed},
    qp_counter{"rx_busy", &mrc_qp_row::rx_busy},
    qp_counter{"rx_no_memory", &mrc_qp_row::rx_no_memory},
    qp_counter{"rx_unexpected", &mrc_qp_row::rx_unexpected},
    qp_counter{"rx_bad_immediate", &mrc_qp_row::rx_bad_immediate},
    qp_counter{"rx_no_receive", &mrc_qp_row::rx_no_receive},
    qp_counter{"rx_wrong_state", &mrc_qp_row::rx_wrong_state},
    qp_counter{"sacks_stale", &mrc_qp_row::sacks_stale},
    qp_counter{"sacks_rejected", &mrc_qp_row::sacks_rejected},
    qp_counter{"acks_rejected", &mrc_qp_row::acks_rejected},
    qp_counter{"acks_unknown", &mrc_qp_row::acks_unknown},
    qp_counter{"nacks_rejected", &mrc_qp_row::nacks_rejected},
    qp_counter{"nacks_stale", &mrc_qp_row::nacks_stale},
    qp_counter{"nacks_unknown", &mrc_qp_row::nacks_unknown},
    qp_counter{"probes_rejected", &mrc_qp_row::probes_rejected},
    qp_counter{"control_dropped", &mrc_qp_row::control_dropped},
    qp_counter{"penalties", &mrc_qp_row::penalties},
    qp_counter{"limited_application_ns", &mrc_qp_row::limited_application_ns},
    qp_counter{"limited_worker_ns", &mrc_qp_row::limited_worker_ns},
    qp_counter{"limited_receiver_ns", &mrc_qp_row::limited_receiver_ns},
    qp_counter{"limited_congestion_ns", &mrc_qp_row::limited_congestion_ns},
    qp_counter{"limited_loss_ns", &mrc_qp_row::limited_loss_ns},
    qp_counter{"limited_paths_ns", &mrc_qp_row::limited_paths_ns},
    qp_counter{"limited_memory_ns", &mrc_qp_row::limited_memory_ns},
};

json::object daemon_view(const daemon_process &process)
{
    return {{"pid", process.pid},
            {"alive", process.alive},
            {"state", json_text(process.state)},
            {"uptime_s", process.alive ? json::value(process.uptime_s) : json::value(nullptr)}};
}

json::object qp_totals(const host_maps &maps)
{
    json::object by_state;
    std::array<std::uint64_t, all_qp_counters.size()> sums{};
    std::uint64_t count = 0;
    for (std::uint32_t number = 0; number < MRC_MAX_QPS; ++number) {
        const mrc_qp_row row = maps.qps()[number];
        if (row.qpn == 0)
            continue;
        ++count;
        json::value &in_state = by_state[name_in(kernel::qp_state_names, row.state)];
        in_state = in_state.is_null() ? 1 : in_state.to_number<std::uint64_t>() + 1;
        for (std::size_t i = 0; i < sums.size(); ++i)
            sums[i] += row.*all_qp_counters[i].value;
    }
    json::object totals{{"count", count}, {"states", by_state}};
    for (std::size_t i = 0; i < sums.size(); ++i)
        totals[all_qp_counters[i].name] = sums[i];
    return totals;
}

json::object port_totals(const json::array &ports)
{
    json::object totals;
    for (const char *name : {"tx_packets", "tx_bytes", "rx_packets", "rx_bytes"}) {
        std::uint64_t sum = 0;
        for (const json::value &port : ports)
            sum += port.at(name).to_number<std::uint64_t>();
        totals[name] = sum;
    }
    return totals;
}

json::object drops_view(const verdict_counts &counts)
{
    json::object drops;
    for (std::size_t i = 0; i < counts.size(); ++i)
        if (counts[i] != 0 && kernel::is_drop(static_cast<mrc_verdict>(i)))
            drops[json_text(kernel::verdict_names[i])] = counts[i];
    return drops;
}

} // namespace

std::span<const qp_counter> qp_counters()
{
    return all_qp_counters;
}

json::object qp_view(const mrc_qp_row &row)
{
    json::object view{{"qpn", row.qpn},
                      {"state", name_in(kernel::qp_state_names, row.state)},
                      {"peer", address_or_null(row.peer)},
                      {"peer_qpn", row.peer_qpn == 0 ? json::value(nullptr) : json::value(row.peer_qpn)},
                      {"session", row.session},
                      {"worker", row.worker},
                      {"mpr_psns", row.mpr},
                      {"cwnd_bytes", row.cwnd_bytes},
                      {"inflight_bytes", row.inflight_bytes},
                      {"rtt_ns", time_or_null(row.rtt_ns)},
                      {"rtt_min_ns", time_or_null(row.rtt_min_ns)},
                      {"rtt_log2", json::array(std::begin(row.rtt_log2), std::end(row.rtt_log2))},
                      {"limit", name_in(kernel::send_limit_names, row.limit)},
                      {"limit_since_ns", row.limit_since_ns}};
    for (const qp_counter &counter : all_qp_counters)
        view[counter.name] = row.*counter.value;
    return view;
}

json::object client_view(std::uint32_t session, const mrc_client_row &row, std::uint64_t now_ns)
{
    return {{"session", session},
            {"pid", row.pid},
            {"uid", row.uid},
            {"command", text_in(row.command)},
            {"queue_pairs", row.queue_pairs},
            {"registered_bytes", row.registered_bytes},
            {"shared_bytes", row.shared_bytes},
            {"connected_ns", row.connected_ns},
            {"connected_for_ns", now_ns - std::min(now_ns, std::uint64_t{row.connected_ns})}};
}

json::object port_view(std::uint32_t plane, const mrc_port_row &row)
{
    const bool usable = (row.flags & MRC_PORT_USABLE) == MRC_PORT_USABLE && row.reason == MRC_PORT_IN_USE;
    return {{"port", plane + 1}, // as verbs and the controller API count
            {"plane", plane},
            {"device", text_in(row.device)},
            {"ifindex", row.ifindex},
            {"state", usable ? "up" : "down"},
            {"reason", usable ? json::value(nullptr) : json::value(name_in(kernel::port_reason_names, row.reason))},
            {"xdp", name_in(kernel::xdp_mode_names, row.xdp)},
            {"engine", name_in(kernel::engine_names, row.engine)},
            {"queues", row.queues},
            {"mtu", row.mtu},
            {"mac", mac_or_null(row.mac)},
            {"address", address_or_null(row.address)},
            {"usid", address_or_null(row.outer)},
            {"tx_packets", row.tx_packets},
            {"tx_bytes", row.tx_bytes},
            {"rx_packets", row.rx_packets},
            {"rx_bytes", row.rx_bytes},
            {"tx_held", row.tx_held},
            {"last_tx_ns", time_or_null(row.last_tx_ns)}};
}

json::object path_view(std::uint32_t number, const mrc_path_row &row, const mrc_signal_row &signal)
{
    return {{"path", number},
            {"group", row.group},
            {"plane", row.plane},
            {"uplink", row.uplink},
            {"ev", row.ev},
            {"state", name_in(kernel::path_state_names, row.state)},
            {"carrier", address_or_null(row.carrier)},
            {"tx_packets", row.tx_packets},
            {"tx_bytes", row.tx_bytes},
            {"retransmits", row.retransmits},
            {"losses", row.losses},
            {"rx_packets", signal.packets},
            {"rx_bytes", signal.bytes},
            {"rx_congested", signal.ce},
            {"rx_trimmed", signal.trims},
            {"last_arrival_ns", time_or_null(signal.last_arrival_ns)},
            {"acks", signal.acks},
            {"congestion_echoes", signal.ce_echoes},
            {"trim_echoes", signal.trim_echoes},
            {"last_ack_ns", time_or_null(signal.last_ack_ns)},
            {"rtt_ns", time_or_null(signal.rtt_ns)},
            {"rtt_min_ns", time_or_null(signal.rtt_min_ns)},
            {"rtt_smoothed_ns", time_or_null(signal.rtt_smoothed_ns)}};
}

json::object verdicts_view(const verdict_counts &counts)
{
    json::object view;
    for (std::size_t i = 0; i < counts.size(); ++i)
        view[json_text(kernel::verdict_names[i])] = counts[i];
    return view;
}

json::array clients_of(const host_maps &maps)
{
    const client_table clients = maps.clients();
    const auto now_ns = static_cast<std::uint64_t>(kernel::monotonic_now().time_since_epoch().count());
    json::array all;
    for (const auto &[session, row] : clients)
        all.push_back(client_view(session, row, now_ns));
    return all;
}

json::object client_of(const host_maps &maps, std::uint32_t session)
{
    const client_table clients = maps.clients();
    const auto found = clients.find(session);
    if (found == clients.end())
        throw ctl_error{fmt::format("no session {}; `mrcctl client list` names those that there are", session)};
    json::object view = client_view(session, found->second,
                                    static_cast<std::uint64_t>(kernel::monotonic_now().time_since_epoch().count()));
    std::set<std::uint32_t> workers;
    std::uint64_t tx_bytes = 0;
    std::uint64_t rx_bytes = 0;
    json::array qps;
    for (std::uint32_t number = 0; number < MRC_MAX_QPS; ++number) {
        const mrc_qp_row row = maps.qps()[number];
        if (row.qpn == 0 || row.session != session)
            continue;
        workers.insert(row.worker);
        tx_bytes += row.tx_bytes;
        rx_bytes += row.rx_bytes;
        qps.push_back(qp_view(row));
        qps.back().as_object()["client"] = owner_or_null(clients, row);
    }
    view["tx_bytes"] = tx_bytes;
    view["rx_bytes"] = rx_bytes;
    view["workers"] = json::array(workers.begin(), workers.end());
    view["qps"] = std::move(qps);
    return view;
}

json::array qps_of(const host_maps &maps)
{
    const client_table clients = maps.clients();
    json::array all;
    for (std::uint32_t number = 0; number < MRC_MAX_QPS; ++number) {
        const mrc_qp_row row = maps.qps()[number];
        if (row.qpn == 0)
            continue;
        json::object view = qp_view(row);
        view["client"] = owner_or_null(clients, row);
        all.push_back(std::move(view));
    }
    return all;
}

json::object qp_of(const host_maps &maps, std::uint32_t qpn)
{
    const mrc_qp_row row = maps.qps()[MRC_QPN_ROW(qpn)];
    if (qpn == 0 || row.qpn != qpn)
        throw ctl_error{fmt::format("no queue pair {}; `mrcctl qp list` names those that exist", qpn)};
    json::object view = qp_view(row);
    view["client"] = owner_or_null(maps.clients(), row);
    const auto peer = maps.peer(row.peer);
    view["paths"] = peer ? json::value(count_paths(maps, {.range = range_of(*peer)})) : json::value(nullptr);
    return view;
}

json::array ports_of(const host_maps &maps)
{
    json::array all;
    for (std::uint32_t plane = 0; plane < MRC_MAX_PORTS; ++plane) {
        const mrc_port_row row = maps.ports()[plane];
        if (row.device[0] == '\0')
            continue;
        json::object view = port_view(plane, row);
        view["gateway_mac"] = mac_or_null(maps.next_hops()[plane].mac);
        view["paths"] = count_paths(maps, {.range = {}, .plane = plane});
        all.push_back(std::move(view));
    }
    return all;
}

json::array paths_of(const host_maps &maps, const path_filter &wanted)
{
    json::array all;
    for_each_path(maps, wanted, [&](std::uint32_t number, const mrc_path_row &row) {
        all.push_back(path_view(number, row, maps.signals()[number]));
    });
    return all;
}

json::object path_of(const host_maps &maps, std::uint32_t number)
{
    const bool exists = number < maps.paths().size();
    const mrc_path_row row = maps.paths()[exists ? number : 0];
    if (!exists || row.state == MRC_PATH_UNUSED)
        throw ctl_error{fmt::format("no path {}; `mrcctl path list` names those in use", number)};
    return path_view(number, row, maps.signals()[number]);
}

json::object status_of(const host_maps &maps)
{
    const mrc_host_row host = maps.host();
    json::array ports = ports_of(maps);
    std::set<std::uint32_t> groups;
    for_each_path(maps, {}, [&](std::uint32_t, const mrc_path_row &row) { groups.insert(row.group); });
    json::object paths = count_paths(maps, {});
    paths["groups"] = groups.size();
    json::object totals = port_totals(ports);
    return {{"instance", maps.of().name},       {"daemon", daemon_view(look_at_daemon(host))},
            {"version", text_in(host.version)}, {"planes", host.planes},
            {"plane_mask", host.plane_mask},    {"payload_bytes", host.payload_bytes},
            {"ports", std::move(ports)},        {"workers", workers_of(maps)},
            {"paths", std::move(paths)},        {"qps", qp_totals(maps)},
            {"totals", std::move(totals)},      {"drops", drops_view(maps.verdicts())}};
}

path_range range_of(const mrc_peer_row &peer)
{
    const std::uint32_t end = peer.group_base + std::uint32_t{peer.planes} * peer.uplinks;
    return {.first = peer.group_base, .end = end};
}

json::object count_paths(const host_maps &maps, const path_filter &wanted)
{
    std::array<std::uint64_t, kernel::path_state_names.size()> counts{};
    for_each_path(maps, wanted, [&](std::uint32_t, const mrc_path_row &row) {
        if (row.state < counts.size())
            ++counts[row.state];
    });
    json::object view;
    for (std::size_t state = MRC_PATH_GOOD; state < counts.size(); ++state)
        view[json_text(kernel::path_state_names[state])] = counts[state];
    return view;
}

path_range paths_toward(const host_maps &maps, const std::string &named)
{
    return range_of(peer_named(maps, named).row);
}

} // namespace mrc::ctl
