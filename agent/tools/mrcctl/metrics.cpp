// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/metrics.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "kernel/map_names.h"
#include "tools/mrcctl/fabric.h"
#include "tools/mrcctl/json_text.h"
#include "tools/mrcctl/process.h"
#include "tools/mrcctl/views.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

struct metric {
    const char *name;
    const char *help;
};

// Members of port_view.
struct port_counter {
    metric is;
    const char *member;
};

constexpr port_counter port_counters[] = {
    {{"mrc_port_transmit_packets_total", "Packets that left by the port."}, "tx_packets"},
    {{"mrc_port_transmit_bytes_total", "Bytes that left by the port, from Ethernet on."}, "tx_bytes"},
    {{"mrc_port_transmit_held_packets_total",
      "Packets that left by AF_XDP, as the device had too many live frames to send."},
     "tx_held"},
    {{"mrc_port_receive_packets_total", "Packets of MRC and the overlay that came in."}, "rx_packets"},
    {{"mrc_port_receive_bytes_total", "Bytes of these packets, from Ethernet on."}, "rx_bytes"},
};

struct path_sum {
    metric is;
    std::uint64_t (*of)(const mrc_path_row &, const mrc_signal_row &);
};

constexpr std::array path_sums{
    path_sum{{"mrc_path_transmit_packets", "Packets sent on the plane's paths in use, since these came into use."},
             [](const mrc_path_row &path, const mrc_signal_row &) -> std::uint64_t { return path.tx_packets; }},
    path_sum{{"mrc_path_lost_packets", "Packets of these paths that were found lost."},
             [](const mrc_path_row &path, const mrc_signal_row &) -> std::uint64_t { return path.losses; }},
    path_sum{{"mrc_path_retransmit_packets", "Packets of these paths that were sent again."},
             [](const mrc_path_row &path, const mrc_signal_row &) -> std::uint64_t { return path.retransmits; }},
    path_sum{{"mrc_path_receive_packets", "Packets that arrived on these paths."},
             [](const mrc_path_row &, const mrc_signal_row &signal) -> std::uint64_t { return signal.packets; }},
    path_sum{{"mrc_path_receive_congested_packets", "Of those that arrived, with congestion experienced."},
             [](const mrc_path_row &, const mrc_signal_row &signal) -> std::uint64_t { return signal.ce; }},
    path_sum{{"mrc_path_receive_trimmed_packets", "Of those that arrived, trimmed by a switch."},
             [](const mrc_path_row &, const mrc_signal_row &signal) -> std::uint64_t { return signal.trims; }},
};

struct qp_sum {
    metric is;
    __u64 mrc_qp_row::*of;
};

constexpr std::array qp_sums{
    qp_sum{{"mrc_qp_transmit_bytes", "Payload that queue pairs that exist have sent, first transmissions."},
           &mrc_qp_row::tx_bytes},
    qp_sum{{"mrc_qp_receive_bytes", "Payload that they have placed."}, &mrc_qp_row::rx_bytes},
    qp_sum{{"mrc_qp_lost_packets", "Packets of theirs that were found lost."}, &mrc_qp_row::losses},
    qp_sum{{"mrc_qp_retransmit_packets", "Packets that they have sent again."}, &mrc_qp_row::retransmits},
    qp_sum{{"mrc_qp_spurious_retransmit_packets", "Of these, whose originals had arrived."}, &mrc_qp_row::spurious},
    qp_sum{{"mrc_qp_timeouts", "Time-outs of their packets."}, &mrc_qp_row::timeouts},
    qp_sum{{"mrc_qp_silences", "Times that a peer of theirs fell silent on all paths."}, &mrc_qp_row::silences},
};

double seconds(std::uint64_t ns)
{
    return static_cast<double>(ns) * 1e-9;
}

struct family_list {
    json::string instance;
    json::array families; // so far
};

void begin_family(family_list &to, const metric &is, std::string_view type)
{
    to.families.push_back(
        json::object{{"name", is.name}, {"type", json_text(type)}, {"help", is.help}, {"samples", json::array{}}});
}

// To the family that was begun last; the instance comes before its own labels.
void add_sample(family_list &to, const json::object &labels, const json::value &value)
{
    json::object all{{"mrc_instance", to.instance}};
    all.insert(labels.begin(), labels.end());
    to.families.back().as_object()["samples"].as_array().push_back(
        json::object{{"labels", std::move(all)}, {"value", value}});
}

void add_daemon(family_list &to, const mrc_host_row &host)
{
    const daemon_process daemon = look_at_daemon(host);
    begin_family(to, {"mrc_up", "1: mrcd runs. 0: it is stopped by a signal, or dead."}, "gauge");
    add_sample(to, {}, daemon.state == "running" ? 1 : 0);
    begin_family(to, {"mrc_uptime_seconds", "Since mrcd pinned its maps."}, "gauge");
    if (daemon.alive)
        add_sample(to, {}, daemon.uptime_s);
}

json::array ports_in_use(const host_maps &maps)
{
    json::array ports;
    for (std::uint32_t plane = 0; plane < MRC_MAX_PORTS; ++plane)
        if (const mrc_port_row row = maps.ports()[plane]; row.device[0] != '\0')
            ports.push_back(port_view(plane, row));
    return ports;
}

json::object labels_of(const json::value &port)
{
    return {{"plane", json_text(fmt::format("{}", port.at("plane").to_number<std::uint32_t>()))},
            {"device", port.at("device")}};
}

void add_ports(family_list &to, const host_maps &maps)
{
    const json::array ports = ports_in_use(maps);
    begin_family(to, {"mrc_port_up", "1: the port is in use. 0: it is not."}, "gauge");
    for (const json::value &port : ports)
        add_sample(to, labels_of(port), port.at("state") == "up" ? 1 : 0);
    begin_family(to, {"mrc_port_down_reason", "1: why the port is out of use. 0: not for this."}, "gauge");
    for (const json::value &port : ports)
        for (std::size_t reason = MRC_PORT_MISSING; reason < kernel::port_reason_names.size(); ++reason) {
            json::object labels = labels_of(port);
            const json::string name = json_text(kernel::port_reason_names[reason]);
            labels["reason"] = name;
            add_sample(to, labels, port.at("reason") == name ? 1 : 0);
        }
    begin_family(to, {"mrc_port_mtu_bytes", "MTU of the port."}, "gauge");
    for (const json::value &port : ports)
        add_sample(to, labels_of(port), port.at("mtu"));
    for (const port_counter &counter : port_counters) {
        begin_family(to, counter.is, "counter");
        for (const json::value &port : ports)
            add_sample(to, labels_of(port), port.at(counter.member));
    }
}

// Of the paths in use on one plane.
struct plane_paths {
    std::array<std::uint64_t, kernel::path_state_names.size()> states{};
    std::array<std::uint64_t, path_sums.size()> sums{};
    std::uint32_t rtt_min_ns = 0; // 0: none yet
    std::uint32_t rtt_max_ns = 0;
};

void count(plane_paths &plane, const mrc_path_row &path, const mrc_signal_row &signal)
{
    ++plane.states[path.state];
    for (std::size_t i = 0; i < path_sums.size(); ++i)
        plane.sums[i] += path_sums[i].of(path, signal);
    if (signal.rtt_min_ns != 0)
        plane.rtt_min_ns = plane.rtt_min_ns == 0 ? signal.rtt_min_ns : std::min(plane.rtt_min_ns, signal.rtt_min_ns);
    if (path.state == MRC_PATH_GOOD)
        plane.rtt_max_ns = std::max(plane.rtt_max_ns, signal.rtt_smoothed_ns);
}

// One pass over the rows, of which there may be a million.
std::vector<plane_paths> paths_by_plane(const host_maps &maps)
{
    std::vector<plane_paths> planes(std::min<std::size_t>(maps.host().planes, MRC_MAX_PORTS));
    for_each_path(maps, {}, [&](std::uint32_t number, const mrc_path_row &path) {
        if (path.state < kernel::path_state_names.size() && path.plane < planes.size())
            count(planes[path.plane], path, maps.signals()[number]);
    });
    return planes;
}

json::object plane_label(std::size_t plane)
{
    return {{"plane", json_text(fmt::format("{}", plane))}};
}

void add_rtt(family_list &to, const metric &is, const std::vector<plane_paths> &planes,
             std::uint32_t plane_paths::*rtt_ns)
{
    begin_family(to, is, "gauge");
    for (std::size_t plane = 0; plane < planes.size(); ++plane)
        if (planes[plane].*rtt_ns != 0)
            add_sample(to, plane_label(plane), seconds(planes[plane].*rtt_ns));
}

void add_paths(family_list &to, const host_maps &maps)
{
    const std::vector<plane_paths> planes = paths_by_plane(maps);
    begin_family(to, {"mrc_paths", "Paths of the plane by their state."}, "gauge");
    for (std::size_t plane = 0; plane < planes.size(); ++plane)
        for (std::size_t state = MRC_PATH_GOOD; state < kernel::path_state_names.size(); ++state) {
            json::object labels = plane_label(plane);
            labels["state"] = json_text(kernel::path_state_names[state]);
            add_sample(to, labels, planes[plane].states[state]);
        }
    for (std::size_t i = 0; i < path_sums.size(); ++i) {
        begin_family(to, path_sums[i].is, "gauge");
        for (std::size_t plane = 0; plane < planes.size(); ++plane)
            add_sample(to, plane_label(plane), planes[plane].sums[i]);
    }
    add_rtt(to, {"mrc_path_rtt_min_seconds", "Least round-trip time on the plane in the last 10 to 20 s of answers."},
            planes, &plane_paths::rtt_min_ns);
    add_rtt(to, {"mrc_path_rtt_max_seconds", "Smoothed round-trip time of the plane's slowest good path."}, planes,
            &plane_paths::rtt_max_ns);
}

void add_queue_pairs(family_list &to, const host_maps &maps)
{
    std::array<std::uint64_t, kernel::qp_state_names.size()> states{};
    std::array<std::uint64_t, qp_sums.size()> sums{};
    std::int64_t inflight = 0;
    for (std::uint32_t number = 0; number < MRC_MAX_QPS; ++number) {
        const mrc_qp_row row = maps.qps()[number];
        if (row.qpn == 0)
            continue;
        if (row.state < states.size())
            ++states[row.state];
        for (std::size_t i = 0; i < sums.size(); ++i)
            sums[i] += row.*qp_sums[i].of;
        inflight += row.inflight_bytes;
    }
    begin_family(to, {"mrc_qps", "Queue pairs by their state."}, "gauge");
    for (std::size_t state = 0; state < states.size(); ++state)
        add_sample(to, {{"state", json_text(kernel::qp_state_names[state])}}, states[state]);
    begin_family(to, {"mrc_qp_inflight_bytes", "Bytes that queue pairs have in flight."}, "gauge");
    add_sample(to, {}, inflight);
    for (std::size_t i = 0; i < sums.size(); ++i) {
        begin_family(to, qp_sums[i].is, "gauge");
        add_sample(to, {}, sums[i]);
    }
}

// Of a worker's row; times are nanoseconds there.
struct worker_counter {
    metric is;
    __u64 mrc_worker_row::*of;
    double unit;
};

constexpr worker_counter worker_counters[] = {
    {{"mrc_worker_cpu_seconds_total", "Time that the worker's thread has had a processor."},
     &mrc_worker_row::ran_ns,
     1e-9},
    {{"mrc_worker_cpu_wait_seconds_total", "Time that it was ready to run, and had none."},
     &mrc_worker_row::waited_ns,
     1e-9},
    {{"mrc_worker_receive_packets_total", "Packets that it took from its sockets."}, &mrc_worker_row::rx_packets, 1},
    {{"mrc_worker_receive_late_packets_total", "Of these, that had waited for longer than backlog_mark_us."},
     &mrc_worker_row::rx_late,
     1},
    {{"mrc_worker_receive_dropped_packets_total", "Packets that found no room in its sockets."},
     &mrc_worker_row::rx_dropped,
     1},
};

void add_workers(family_list &to, const host_maps &maps)
{
    for (const worker_counter &counter : worker_counters) {
        begin_family(to, counter.is, "counter");
        for (std::uint32_t number = 0; number < maps.workers().size(); ++number)
            if (const mrc_worker_row row = maps.workers()[number]; row.thread != 0)
                add_sample(to, {{"worker", json_text(fmt::format("{}", number))}},
                           static_cast<double>(row.*counter.of) * counter.unit);
    }
}

void add_clients(family_list &to, const client_table &clients)
{
    std::uint64_t registered_bytes = 0;
    std::uint64_t shared_bytes = 0;
    for (const auto &[session, row] : clients) {
        registered_bytes += row.registered_bytes;
        shared_bytes += row.shared_bytes;
    }
    begin_family(to, {"mrc_clients", "Programs that are connected to mrcd."}, "gauge");
    add_sample(to, {}, clients.size());
    begin_family(to, {"mrc_client_registered_bytes", "Memory that they have registered."}, "gauge");
    add_sample(to, {}, registered_bytes);
    begin_family(to, {"mrc_client_shared_bytes", "Of that, what mrcd copies without calls of the kernel."}, "gauge");
    add_sample(to, {}, shared_bytes);
}

void add_verdicts(family_list &to, const verdict_counts &counts)
{
    begin_family(to, {"mrc_packets_total", "Packets by verdict, since mrcd started."}, "counter");
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const auto verdict = static_cast<mrc_verdict>(i);
        if (kernel::verdict_group(verdict) == "sw") // mrc-switch's own
            continue;
        add_sample(
            to,
            {{"verdict", json_text(kernel::verdict_names[i])}, {"dropped", kernel::is_drop(verdict) ? "yes" : "no"}},
            counts[i]);
    }
}

// Those of which there are any: a row for each port and reason would be hundreds.
void add_drops(family_list &to, const host_maps &maps)
{
    const pinned_array<mrc_drop_row> rows{maps.of(), "drops", MRC_DROP_ROWS};
    begin_family(to, {"mrc_port_drops_total", "Packets that programs have dropped, by port and verdict; without one."},
                 "counter");
    for (std::uint32_t number = 0; number < rows.size(); ++number) {
        const std::uint64_t packets = rows[number].packets;
        const std::uint32_t port = number / MRC_DROP_VERDICTS;
        if (packets == 0)
            continue;
        json::object labels = port == MRC_DROP_NO_PORT ? json::object{{"plane", ""}} : plane_label(port);
        labels["verdict"] = json_text(kernel::verdict_name(number % MRC_DROP_VERDICTS));
        add_sample(to, labels, packets);
    }
}

// Of the links that loops of one plane test.
struct plane_links {
    std::array<std::uint64_t, kernel::link_state_names.size()> states{};
    std::uint64_t sent = 0;
    std::uint64_t lost = 0;
    std::uint32_t worst_ppm = 0;
};

std::map<std::uint32_t, plane_links> links_by_plane(const host_maps &maps)
{
    const pinned_array<mrc_loop_row> rows{maps.of(), "loops", 0};
    std::map<std::uint32_t, plane_links> planes;
    for (std::uint32_t number = 0; rows.size() > 1 && number < rows.size(); ++number) {
        const mrc_loop_row row = rows[number];
        if (row.uplink == MRC_LOOP_CROSSING)
            continue;
        plane_links &plane = planes[row.plane];
        if (row.state < plane.states.size())
            ++plane.states[row.state];
        plane.sent += row.sent;
        plane.lost += row.lost;
        plane.worst_ppm = std::max<std::uint32_t>(plane.worst_ppm, row.loss_ppm);
    }
    return planes;
}

void add_links(family_list &to, const host_maps &maps)
{
    const auto planes = links_by_plane(maps);
    begin_family(to, {"mrc_links", "Links of the plane that loops test, by their state."}, "gauge");
    for (const auto &[plane, links] : planes)
        for (std::size_t state = 0; state < links.states.size(); ++state) {
            json::object labels = plane_label(plane);
            labels["state"] = json_text(kernel::link_state_names[state]);
            add_sample(to, labels, links.states[state]);
        }
    begin_family(to, {"mrc_link_loss_ratio", "Loops lost in the last second by the plane's worst link, of 1."},
                 "gauge");
    for (const auto &[plane, links] : planes)
        add_sample(to, plane_label(plane), links.worst_ppm * 1e-6);
    begin_family(to, {"mrc_loops_sent_total", "Loops of the fabric map that left by the plane."}, "counter");
    for (const auto &[plane, links] : planes)
        add_sample(to, plane_label(plane), links.sent);
    begin_family(to, {"mrc_loops_lost", "Of these, those that were found lost; one that comes late is none."}, "gauge");
    for (const auto &[plane, links] : planes)
        add_sample(to, plane_label(plane), links.lost);
}

std::string text_or_none(const json::value &of)
{
    return of.is_null() ? "" : of.is_string() ? std::string{of.as_string()} : json::serialize(of);
}

// Of the fabric, as all hosts find it together; at most MRC_MAX_FAULTS.
void add_faults(family_list &to, const host_maps &maps)
{
    begin_family(to, {"mrc_fabric_fault", "Share of loops lost by a link or switch that is at fault; 0: it is slow."},
                 "gauge");
    for (const json::value &each : fabric_faults_of(maps)) {
        json::object labels;
        for (const char *name : {"plane", "blame", "leaf", "spine", "host", "state", "direction"})
            labels[name] = text_or_none(each.at(name));
        add_sample(to, labels, each.at("loss").to_number<double>());
    }
}

} // namespace

json::array metrics_of(const host_maps &maps)
{
    family_list all{.instance = json_text(maps.of().name), .families = {}};
    add_daemon(all, maps.host());
    add_ports(all, maps);
    add_paths(all, maps);
    add_links(all, maps);
    add_faults(all, maps);
    add_workers(all, maps);
    add_clients(all, maps.clients());
    add_queue_pairs(all, maps);
    begin_family(all, {"mrc_qp_errors_untold_total", "Queue pairs that failed without an event, too many at once."},
                 "counter");
    add_sample(all, {}, maps.host().untold_qp_errors);
    add_verdicts(all, maps.verdicts());
    add_drops(all, maps);
    return std::move(all.families);
}

} // namespace mrc::ctl
