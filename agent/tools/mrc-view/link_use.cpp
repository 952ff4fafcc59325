// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/link_use.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernel/map_names.h"
#include "tools/mrc-view/host_view.h"
#include "tools/mrcctl/json_text.h"
#include "tools/mrcctl/json_values.h"

namespace mrc::view
{

namespace
{

namespace json = boost::json;

struct used_path {
    path_growth last{};
    path_growth whole{};
    std::string host{};
    double tx_bits_per_s = 0;
};

bool leads_over(const std::vector<hop> &hops, const link_key &link)
{
    return std::ranges::find(hops, link, &hop::link) != hops.end();
}

// Those of one host, and the groups that they are of.
std::vector<used_path> paths_over(const link_key &link, const host_look &host, const peer_names &names,
                                  const neighbour_table &known, std::set<std::uint32_t> &groups)
{
    std::vector<used_path> found;
    const double seconds = seconds_between(*host.before, *host.now);
    const auto last = growth_between(*host.before, *host.now);
    const auto whole = growth_between(*host.long_ago, *host.now);
    peers_by_group peers = peers_in_use(*host.now, names);
    for (std::size_t i = 0; i < last.size(); ++i) {
        const mrc_path_row &path = last[i].now.path;
        if (path.plane != link.plane || !leads_over(hops_of(host.place, path, peers[path.group], known), link))
            continue;
        groups.insert(path.group);
        found.push_back({.last = last[i],
                         .whole = whole[i],
                         .host = host.place.name,
                         .tx_bits_per_s = seconds > 0 ? 8 * static_cast<double>(last[i].tx_bytes) / seconds : 0});
    }
    return found;
}

double badness(const used_path &one)
{
    const double loss = loss_of({.sent = one.whole.tx_packets, .lost = one.whole.losses}).value_or(0);
    return one.last.now.path.state == MRC_PATH_GOOD ? loss : 1 + loss;
}

json::object path_line(const used_path &one)
{
    const mrc_path_row &path = one.last.now.path;
    const auto loss = loss_of({.sent = one.whole.tx_packets, .lost = one.whole.losses});
    const double rtt = one.last.now.signal.rtt_smoothed_ns;
    return {{"host", ctl::json_text(one.host)},
            {"path", one.last.now.number},
            {"leaf", path.group},
            {"uplink", path.uplink},
            {"state", ctl::name_in(kernel::path_state_names, path.state)},
            {"loss", loss ? json::value(*loss) : json::value(nullptr)},
            {"tx_bits_per_s", one.tx_bits_per_s},
            {"rtt_ns", rtt > 0 ? json::value(rtt) : json::value(nullptr)}};
}

// Queue pairs whose peers are behind these groups, and what the peers are called.
void add_users(json::array &qps, std::set<std::string> &peers, const host_look &host,
               const std::set<std::uint32_t> &groups, const peer_names &names)
{
    for (const auto &[qpn, peer] : host.now->peer_of_qp) {
        const auto first = std::ranges::lower_bound(host.now->paths, peer.group_base, {}, &numbered_path::number);
        if (first == host.now->paths.end() || !groups.contains(first->path.group) || qps.size() >= most_queue_pairs)
            continue;
        json::object view = qp_summary(*host.before, *host.now, qpn, names);
        view["host"] = ctl::json_text(host.place.name);
        if (view.at("peer").is_string())
            peers.insert(std::string{view.at("peer").get_string()});
        qps.push_back(std::move(view));
    }
}

json::array events_of(const link_key &link, std::span<const host_look> hosts, const neighbour_table &known,
                      const numbered_ring &events)
{
    json::array found;
    for (auto event = events.kept().rbegin(); event != events.kept().rend() && found.size() < most_link_events; ++event)
        for (const host_look &host : hosts)
            if (event->at("host") == host.place.name.c_str() && is_of_link(*event, link, host.place, known))
                found.push_back(*event);
    return found;
}

std::uint32_t number_in(const json::object &event, const char *name, std::uint32_t otherwise)
{
    const json::value *const value = event.if_contains(name);
    return value != nullptr && value->is_number() ? value->to_number<std::uint32_t>() : otherwise;
}

} // namespace

std::string reason_in_words(const link_figures &figures)
{
    const double loss = 100 * loss_of(figures).value_or(0);
    switch (state_of(figures)) {
    case link_state::unused:
        return "no path that is known here leads over it";
    case link_state::good:
        return fmt::format("all {} paths over it are in use; {:.2g} % of the {} packets sent over it were lost",
                           figures.paths, loss, figures.sent);
    case link_state::lossy:
        return fmt::format("{:.2g} % of the {} packets sent over it were lost, on this link or another of their way",
                           loss, figures.sent);
    case link_state::partly:
        return fmt::format("{} of {} paths over it are out of use", figures.paths - figures.good, figures.paths);
    case link_state::dark:
        return fmt::format("all {} paths over it are out of use", figures.paths);
    case link_state::down:
        return fmt::format("the port at its end is out of use: {}", figures.down_reason);
    }
    return {};
}

bool is_of_link(const json::object &event, const link_key &link, const host_position &host,
                const neighbour_table &known)
{
    constexpr std::uint32_t none = ~0U;
    if (number_in(event, "plane", none) != link.plane)
        return false;
    const std::uint32_t leaf = number_in(event, "leaf", none);
    const std::uint32_t uplink = number_in(event, "uplink", none);
    if (link == port_link(host, link.plane, known))
        return true;
    if (leaf == none || host.direct)
        return false; // of the host's own port
    const bool from_own = host.leaf && link.a == leaf_name(link.plane, *host.leaf);
    const bool is_end = from_own || link.a == leaf_name(link.plane, leaf);
    return is_end && (uplink == none || link.b == spine_name(link.plane, uplink));
}

json::object link_use(const link_key &link, std::span<const host_look> hosts, const peer_names &names,
                      const neighbour_table &known, const numbered_ring &events)
{
    std::vector<used_path> paths;
    std::set<std::string> peers;
    json::array qps;
    for (const host_look &host : hosts) {
        std::set<std::uint32_t> groups;
        std::vector<used_path> own = paths_over(link, host, names, known, groups);
        std::ranges::move(own, std::back_inserter(paths));
        add_users(qps, peers, host, groups, names);
    }
    std::ranges::stable_sort(paths, std::greater{}, badness);
    paths.resize(std::min(paths.size(), most_paths_listed));
    json::array lines;
    for (const used_path &one : paths)
        lines.push_back(path_line(one));
    json::array called;
    for (const std::string &peer : peers)
        called.push_back(ctl::json_text(peer));
    return {{"listed_paths", std::move(lines)},
            {"qps", std::move(qps)},
            {"peers", std::move(called)},
            {"events", events_of(link, hosts, known, events)}};
}

} // namespace mrc::view
