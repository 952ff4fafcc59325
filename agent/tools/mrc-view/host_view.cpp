// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/host_view.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "kernel/map_names.h"
#include "tools/mrc-view/plane_figures.h"
#include "tools/mrcctl/json_text.h"
#include "tools/mrcctl/json_values.h"
#include "tools/mrcctl/views.h"

namespace mrc::view
{

namespace
{

namespace json = boost::json;

json::value rtt_or_null(double ns)
{
    return ns > 0 ? json::value(ns) : json::value(nullptr);
}

json::array planes_of(const host_look &host)
{
    const double seconds = seconds_between(*host.before, *host.now);
    const plane_table figures = plane_figures_of(*host.before, *host.now);
    json::array all;
    for (std::uint32_t plane = 0; plane < MRC_MAX_PORTS; ++plane) {
        const mrc_port_row &now = host.now->counters.ports[plane];
        if (now.device[0] == '\0')
            continue;
        json::object view = ctl::plane_rates(plane, host.before->counters.ports[plane], now, seconds);
        const plane_figures &of = figures[plane];
        view["tx_goodput_bits_per_s"] = of.tx_goodput_bits_per_s;
        view["rx_goodput_bits_per_s"] = of.rx_goodput_bits_per_s;
        view["retransmits_per_s"] = of.retransmits_per_s;
        view["losses_per_s"] = of.losses_per_s;
        view["rtt_ns"] = rtt_or_null(of.rtt_ns);
        view["paths"] = of.paths;
        view["good"] = of.good;
        all.push_back(std::move(view));
    }
    return all;
}

// Paths of all groups by plane and uplink.
struct uplink_sums {
    link_figures figures{};
    double tx_bits_per_s = 0;
    double rtt_ns = 0; // the slowest good path's
    std::array<std::uint32_t, MRC_PATH_DENIED + 1> states{};
};

std::map<std::pair<std::uint32_t, std::uint32_t>, uplink_sums> sums_of(const host_look &host)
{
    std::map<std::pair<std::uint32_t, std::uint32_t>, uplink_sums> sums;
    const double seconds = seconds_between(*host.before, *host.now);
    const auto last = growth_between(*host.before, *host.now);
    const auto whole = growth_between(*host.long_ago, *host.now);
    for (std::size_t i = 0; i < last.size(); ++i) {
        const mrc_path_row &path = last[i].now.path;
        uplink_sums &sum = sums[{path.plane, path.uplink}];
        ++sum.figures.paths;
        sum.figures.good += path.state == MRC_PATH_GOOD ? 1 : 0;
        sum.figures.sent += whole[i].tx_packets;
        sum.figures.lost += whole[i].losses;
        sum.tx_bits_per_s += seconds > 0 ? 8 * static_cast<double>(last[i].tx_bytes) / seconds : 0;
        if (path.state == MRC_PATH_GOOD)
            sum.rtt_ns = std::max(sum.rtt_ns, static_cast<double>(last[i].now.signal.rtt_smoothed_ns));
        if (path.state < sum.states.size())
            ++sum.states[path.state];
    }
    return sums;
}

json::array uplinks_of(const host_look &host)
{
    json::array all;
    for (const auto &[key, sum] : sums_of(host)) {
        const auto loss = loss_of(sum.figures);
        json::object states;
        for (std::size_t state = MRC_PATH_GOOD; state < sum.states.size(); ++state)
            if (sum.states[state] != 0)
                states[ctl::json_text(kernel::path_state_names[state])] = sum.states[state];
        all.push_back(json::object{{"plane", key.first},
                                   {"uplink", key.second},
                                   {"state", name_of(state_of(sum.figures))},
                                   {"states", std::move(states)},
                                   {"loss", loss ? json::value(*loss) : json::value(nullptr)},
                                   {"tx_bits_per_s", sum.tx_bits_per_s},
                                   {"rtt_ns", rtt_or_null(sum.rtt_ns)}});
    }
    return all;
}

// Queue pairs with one host.
struct traffic_sums {
    std::uint32_t qps = 0;
    double tx_bits_per_s = 0;
    double rx_bits_per_s = 0;
};

std::map<host_id, traffic_sums> traffic_by_host(const host_look &host)
{
    std::map<host_id, traffic_sums> sums;
    const double seconds = seconds_between(*host.before, *host.now);
    for (const auto &[qpn, peer] : host.now->peer_of_qp) {
        const mrc_qp_row &now = host.now->counters.qps.at(qpn);
        const auto then = host.before->counters.qps.find(qpn);
        const mrc_qp_row &before = then == host.before->counters.qps.end() ? now : then->second;
        traffic_sums &sum = sums[id_of(peer)];
        ++sum.qps;
        sum.tx_bits_per_s += 8 * ctl::rate_between(before.tx_bytes, now.tx_bytes, seconds);
        sum.rx_bits_per_s += 8 * ctl::rate_between(before.rx_bytes, now.rx_bytes, seconds);
    }
    return sums;
}

json::object peer_view(const host_look &host, const ctl::peer_place &peer, const traffic_sums &traffic,
                       const peer_names &names)
{
    std::uint32_t paths = 0;
    std::uint32_t good = 0;
    json::value leaf = nullptr;
    const std::uint32_t end = peer.row.group_base + std::uint32_t{peer.row.planes} * peer.row.uplinks;
    auto at = std::ranges::lower_bound(host.now->paths, peer.row.group_base, {}, &numbered_path::number);
    for (; at != host.now->paths.end() && at->number < end; ++at) {
        ++paths;
        good += at->path.state == MRC_PATH_GOOD ? 1 : 0;
        if (!host.place.direct)
            leaf = at->path.group;
    }
    return {{"name", ctl::json_text(name_of_peer(peer.address, names))},
            {"address", ctl::address_or_null(peer.address)},
            {"leaf", leaf},
            {"paths", paths},
            {"good", good},
            {"qps", traffic.qps},
            {"tx_bits_per_s", traffic.tx_bits_per_s},
            {"rx_bits_per_s", traffic.rx_bits_per_s}};
}

// Those that most queue pairs lead to first.
json::array peers_of(const host_look &host, const peer_names &names)
{
    std::map<host_id, traffic_sums> traffic = traffic_by_host(host);
    std::vector<const ctl::peer_place *> order;
    order.reserve(host.now->peers.size());
    for (const auto &peer : host.now->peers)
        order.push_back(&peer);
    std::ranges::stable_sort(order, std::greater{}, [&](const auto *peer) { return traffic[id_of(peer->row)].qps; });
    order.resize(std::min(order.size(), most_peers_listed));
    json::array all;
    for (const auto *peer : order)
        all.push_back(peer_view(host, *peer, traffic[id_of(peer->row)], names));
    return all;
}

std::uint64_t moved_by(const host_look &host, std::uint32_t qpn)
{
    const mrc_qp_row &now = host.now->counters.qps.at(qpn);
    const auto then = host.before->counters.qps.find(qpn);
    if (then == host.before->counters.qps.end())
        return 0;
    return ctl::grown(then->second.tx_bytes, now.tx_bytes) + ctl::grown(then->second.rx_bytes, now.rx_bytes);
}

json::array qps_of(const host_look &host, const peer_names &names)
{
    std::vector<std::pair<std::uint64_t, std::uint32_t>> busiest;
    busiest.reserve(host.now->counters.qps.size());
    for (const auto &[qpn, row] : host.now->counters.qps)
        busiest.emplace_back(moved_by(host, qpn), qpn);
    std::ranges::stable_sort(busiest, std::greater{}, &std::pair<std::uint64_t, std::uint32_t>::first);
    busiest.resize(std::min(busiest.size(), most_queue_pairs));
    json::array all;
    for (const auto &[moved, qpn] : busiest)
        all.push_back(qp_summary(*host.before, *host.now, qpn, names));
    return all;
}

json::array clients_of(const host_look &host)
{
    json::array all;
    for (const auto &[session, row] : host.now->clients) {
        if (all.size() == most_clients_listed)
            break;
        all.push_back(ctl::client_view(session, row, host.now->counters.time_ns));
    }
    return all;
}

json::value client_of(const host_rows &rows, std::uint32_t session)
{
    const auto found = rows.clients.find(session);
    if (found == rows.clients.end())
        return nullptr;
    return json::object{
        {"session", session}, {"pid", found->second.pid}, {"command", ctl::text_in(found->second.command)}};
}

} // namespace

json::object qp_summary(const host_rows &before, const host_rows &now, std::uint32_t qpn, const peer_names &names)
{
    const mrc_qp_row &row = now.counters.qps.at(qpn);
    const auto then = before.counters.qps.find(qpn);
    const json::object whole =
        ctl::qp_rates(then == before.counters.qps.end() ? row : then->second, row, seconds_between(before, now));
    json::object view;
    for (const char *name : {"qpn", "state", "tx_bits_per_s", "rx_bits_per_s", "retransmits_per_s", "losses_per_s",
                             "rtt_ns", "limit", "cwnd_bytes", "inflight_bytes"})
        view[name] = whole.at(name);
    view["peer"] =
        whole.at("peer").is_null() ? json::value(nullptr) : json::value(ctl::json_text(name_of_peer(row.peer, names)));
    view["client"] = client_of(now, row.session);
    return view;
}

json::object host_view(const host_look &host, const std::string &instance, const peer_names &names)
{
    return {{"name", ctl::json_text(host.place.name)},
            {"instance", ctl::json_text(instance)},
            {"state", ctl::json_text(host.now->daemon.state)},
            {"problem", nullptr},
            {"pid", host.now->daemon.pid},
            {"leaf", host.place.leaf ? json::value(*host.place.leaf) : json::value(nullptr)},
            {"direct", host.place.direct},
            {"planes", planes_of(host)},
            {"uplinks", uplinks_of(host)},
            {"peers", peers_of(host, names)},
            {"qps", qps_of(host, names)},
            {"qp_count", host.now->counters.qps.size()},
            {"clients", clients_of(host)}};
}

} // namespace mrc::view
