// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/fabric.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "kernel/map_names.h"
#include "tools/mrcctl/json_values.h"
#include "tools/mrcctl/views.h"
#include "tools/table/table.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

constexpr double millionths = 1e6;
constexpr double percent = 100;

constexpr column fault_columns[] = {
    {"PLANE", "plane"},         {"AT FAULT", "fault_text"}, {"STATE", "state"},
    {"DIRECTION", "direction"}, {"LOSS", "loss_text"},      {"EXTRA RTT", "extra_rtt_ns", column_unit::time},
    {"FOUND BY", "hosts"},      {"GOOD FOR", "witnesses"},
};

constexpr column link_columns[] = {
    {"PLANE", "plane"},
    {"LINK", "link_text"},
    {"STATE", "state"},
    {"BLAME", "blame"},
    {"LOSS", "loss_text"},
    {"RTT", "rtt_mean_ns", column_unit::time},
    {"MIN RTT", "rtt_min_ns", column_unit::time},
    {"EXTRA RTT", "extra_rtt_ns", column_unit::time},
    {"LOOPS", "sent"},
    {"LOST", "lost"},
};

constexpr column peer_columns[] = {
    {"PLANE", "plane"},
    {"PEER", "peer"},
    {"STATE", "state"},
    {"LOSS", "loss_text"},
    {"EXTRA RTT", "extra_rtt_ns", column_unit::time},
    {"GOOD", "paths.good"},
    {"KEPT", "paths.kept"},
    {"BAD", "paths.assumed_bad"},
    {"DENIED", "paths.denied"},
    {"TX PACKETS", "tx_packets"},
    {"LOST", "losses"},
    {"RTT", "rtt_smoothed_ns", column_unit::time},
    {"MIN RTT", "rtt_min_ns", column_unit::time},
};

json::value number_or_null(std::uint64_t value)
{
    return value == 0 ? json::value(nullptr) : json::value(value);
}

json::object link_view(const host_maps &maps, const mrc_loop_row &row)
{
    const bool is_to_leaf = row.uplink == MRC_LOOP_NO_SPINE;
    const mrc_port_row port = maps.ports()[std::min<std::uint32_t>(row.plane, MRC_MAX_PORTS - 1)];
    return {{"plane", row.plane},
            {"device", text_in(port.device)},
            {"leaf", row.leaf},
            {"spine", is_to_leaf ? json::value(nullptr) : json::value(row.uplink)},
            {"state", name_in(kernel::link_state_names, row.state)},
            {"blame", row.blame == MRC_BLAME_NOTHING ? json::value(nullptr)
                                                     : json::value(name_in(kernel::link_blame_names, row.blame))},
            {"direction", name_in(kernel::link_direction_names, row.direction)},
            {"since_ns", number_or_null(row.since_ns)},
            {"loss", row.loss_ppm / millionths},
            {"loss_low", row.loss_low_ppm / millionths},
            {"loss_high", row.loss_high_ppm / millionths},
            {"sent", row.sent},
            {"arrived", row.arrived},
            {"lost", row.lost},
            {"unjudged", row.unjudged},
            {"last_arrival_ns", number_or_null(row.last_arrival_ns)},
            {"rtt_ns", number_or_null(row.rtt_ns)},
            {"rtt_mean_ns", row.arrived == 0 ? json::value(nullptr) : json::value(row.rtt_sum_ns / row.arrived)},
            {"rtt_min_ns", number_or_null(row.rtt_min_ns)},
            {"extra_rtt_ns", row.extra_rtt_ns},
            {"rtt_log2", json::array(std::begin(row.rtt_log2), std::end(row.rtt_log2))}};
}

json::array links_of(const host_maps &maps)
{
    const pinned_array<mrc_loop_row> rows{maps.of(), "loops", 0};
    json::array links;
    for (std::uint32_t row = 0; rows.size() > 1 && row < rows.size(); ++row)
        if (const mrc_loop_row link = rows[row]; link.uplink != MRC_LOOP_CROSSING)
            links.push_back(link_view(maps, link));
    return links;
}

json::value or_null(std::uint32_t number)
{
    return number == MRC_FAULT_NOWHERE ? json::value(nullptr) : json::value(number);
}

double loss_of(const mrc_fault_row &row)
{
    return row.loops == 0 ? 0.0 : static_cast<double>(row.lost) / row.loops;
}

json::object fault_view(const mrc_fault_row &row)
{
    return {{"plane", row.plane},
            {"blame", name_in(kernel::link_blame_names, row.blame)},
            {"leaf", or_null(row.leaf)},
            {"spine", or_null(row.uplink)},
            {"host", address_or_null(row.host)},
            {"state", name_in(kernel::link_state_names, row.state)},
            {"direction", name_in(kernel::link_direction_names, row.direction)},
            {"since_ns", row.since_ns},
            {"loops", row.loops},
            {"lost", row.lost},
            {"loss", loss_of(row)},
            {"extra_rtt_ns", row.extra_rtt_ns},
            {"hosts", row.hosts},
            {"witnesses", row.witnesses}};
}

// The paths of one plane toward one peer.
struct way_to_peer {
    path_range range{};
    mrc_ip peer{};
    std::uint64_t tx_packets = 0;
    std::uint64_t losses = 0;
    std::uint32_t rtt_smoothed_ns = 0; // of the quickest; 0: none yet
    std::uint32_t rtt_min_ns = 0;
    std::uint64_t last_arrival_ns = 0; // 0: none yet
    bool is_any_in_use = false;
};

void keep_least(std::uint32_t &least, std::uint32_t value)
{
    least = least == 0 ? value : value == 0 ? least : std::min(least, value);
}

std::map<std::pair<std::uint32_t, std::uint32_t>, way_to_peer> toward_peers(const host_maps &maps)
{
    std::map<std::pair<std::uint32_t, std::uint32_t>, way_to_peer> ways;
    for_each_path(maps, {}, [&](std::uint32_t number, const mrc_path_row &path) {
        if (path.kind != MRC_CARRIER_DIRECT)
            return;
        const auto [at, is_new] = ways.try_emplace({path.plane, path.group});
        way_to_peer &way = at->second;
        const mrc_signal_row signal = maps.signals()[number];
        way.range.first = is_new ? number : std::min(way.range.first, number);
        way.range.end = is_new ? number + 1 : std::max(way.range.end, number + 1);
        way.peer = path.carrier;
        way.tx_packets += path.tx_packets;
        way.losses += path.losses;
        way.is_any_in_use = way.is_any_in_use || path.state == MRC_PATH_GOOD || path.state == MRC_PATH_KEPT;
        way.last_arrival_ns = std::max<std::uint64_t>(way.last_arrival_ns, signal.last_arrival_ns);
        keep_least(way.rtt_smoothed_ns, signal.rtt_smoothed_ns);
        keep_least(way.rtt_min_ns, signal.rtt_min_ns);
    });
    return ways;
}

// As mrcd judges it; what it blames nobody for may be out of use all the same, and a way that nothing has come from is
// not known to be any good.
mrc_link_state state_of(const way_to_peer &way, const mrc_fault_row *fault, const mrc_port_row &port)
{
    if (fault != nullptr)
        return fault->state;
    if (!way.is_any_in_use || (port.flags & MRC_PORT_USABLE) != MRC_PORT_USABLE)
        return MRC_LINK_DEAD;
    return way.last_arrival_ns == 0 ? MRC_LINK_UNKNOWN : MRC_LINK_GOOD;
}

json::array peers_of(const host_maps &maps)
{
    const std::vector<mrc_fault_row> faults = named_faults_of(maps);
    json::array peers;
    for (const auto &[place, way] : toward_peers(maps)) {
        const auto fault = std::ranges::find_if(faults, [&](const mrc_fault_row &named) {
            return named.blame == MRC_BLAME_PEER && named.plane == place.first && named.leaf == place.second;
        });
        const mrc_port_row port = maps.ports()[std::min<std::uint32_t>(place.first, MRC_MAX_PORTS - 1)];
        const mrc_fault_row *const named = fault == faults.end() ? nullptr : &*fault;
        peers.push_back(json::object{{"plane", place.first},
                                     {"peer", address_or_null(way.peer)},
                                     {"state", name_in(kernel::link_state_names, state_of(way, named, port))},
                                     {"loss", named == nullptr ? json::value(nullptr) : json::value(loss_of(*named))},
                                     {"extra_rtt_ns", named == nullptr ? 0 : named->extra_rtt_ns},
                                     {"since_ns", number_or_null(named == nullptr ? 0 : named->since_ns)},
                                     {"paths", count_paths(maps, {.range = way.range, .plane = place.first})},
                                     {"tx_packets", way.tx_packets},
                                     {"losses", way.losses},
                                     {"rtt_smoothed_ns", number_or_null(way.rtt_smoothed_ns)},
                                     {"rtt_min_ns", number_or_null(way.rtt_min_ns)}});
    }
    return peers;
}

std::string loss_text(const json::object &link)
{
    if (link.at("sent").to_number<std::uint64_t>() == 0)
        return "-";
    return fmt::format("{:.1f} % ({:.1f} to {:.1f})", percent * link.at("loss").to_number<double>(),
                       percent * link.at("loss_low").to_number<double>(),
                       percent * link.at("loss_high").to_number<double>());
}

std::string link_text(const json::object &link)
{
    const auto leaf = link.at("leaf").to_number<std::uint32_t>();
    if (link.at("spine").is_null())
        return fmt::format("{} - leaf {}", std::string{link.at("device").as_string()}, leaf);
    return fmt::format("leaf {} - spine {}", leaf, link.at("spine").to_number<std::uint32_t>());
}

std::string fault_text(const json::object &fault)
{
    const auto number = [&](const char *of) { return fault.at(of).to_number<std::uint32_t>(); };
    if (fault.at("blame").as_string() == "peer")
        return fmt::format("way to peer {}", std::string{fault.at("host").as_string()});
    if (!fault.at("host").is_null()) {
        const std::string host{fault.at("host").as_string()};
        const bool may_be_leaf = fault.at("blame").as_string() == "host_link_or_leaf";
        return fmt::format("link of {} to leaf {}{}", host, number("leaf"), may_be_leaf ? ", or that leaf" : "");
    }
    if (fault.at("leaf").is_null())
        return fmt::format("spine {}", number("spine"));
    if (fault.at("spine").is_null())
        return fmt::format("leaf {}", number("leaf"));
    const bool may_be_spine = fault.at("blame").as_string() == "spine_link_or_spine";
    return fmt::format("link of leaf {} to spine {}{}", number("leaf"), number("spine"),
                       may_be_spine ? ", or that spine" : "");
}

std::string percent_text(double share)
{
    return fmt::format("{:.1f} %", percent * share);
}

std::string faults_text(json::array faults)
{
    for (json::value &fault : faults) {
        json::object &row = fault.as_object();
        row["fault_text"] = fault_text(row);
        row["loss_text"] = percent_text(row.at("loss").to_number<double>());
    }
    return to_table(fault_columns, faults);
}

} // namespace

std::vector<mrc_fault_row> named_faults_of(const host_maps &maps)
{
    std::vector<mrc_fault_row> faults;
    const pinned_array<mrc_fault_row> rows{maps.of(), "fabric_faults", MRC_MAX_FAULTS};
    for (std::uint32_t row = 0; row < rows.size() && rows[row].state != MRC_LINK_UNKNOWN; ++row)
        faults.push_back(rows[row]);
    return faults;
}

json::array fabric_faults_of(const host_maps &maps)
{
    json::array faults;
    for (const mrc_fault_row &fault : named_faults_of(maps))
        faults.push_back(fault_view(fault));
    return faults;
}

json::object fabric_map_of(const host_maps &maps)
{
    json::array links = links_of(maps);
    json::array peers = peers_of(maps);
    return {{"is_on", !links.empty()},
            {"faults", fabric_faults_of(maps)},
            {"links", std::move(links)},
            {"peers", std::move(peers)}};
}

std::string fabric_map_text(const json::object &map)
{
    json::array links = map.at("links").as_array();
    for (json::value &link : links) {
        json::object &row = link.as_object();
        row["loss_text"] = loss_text(row);
        row["link_text"] = link_text(row);
    }
    json::array peers = map.at("peers").as_array();
    for (json::value &peer : peers) {
        const json::value &loss = peer.at("loss");
        const std::string text = loss.is_null() ? "-" : percent_text(loss.to_number<double>());
        peer.as_object()["loss_text"] = text;
    }
    const json::array &faults = map.at("faults").as_array();
    const std::string named = faults.empty() ? "" : faults_text(faults) + "\n";
    if (!links.empty())
        return named + to_table(link_columns, links);
    if (!peers.empty())
        return named + to_table(peer_columns, peers);
    return "no fabric map: this mrcd sends no loops ([fabric_map] interval_us), and has no direct paths\n";
}

} // namespace mrc::ctl
