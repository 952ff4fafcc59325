// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/text.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernel/map_names.h"
#include "tools/mrcctl/json_text.h"
#include "tools/mrcctl/views.h"
#include "tools/mrcctl/workers.h"
#include "tools/table/table.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

constexpr column port_columns[] = {
    {"PORT", "port"},
    {"PLANE", "plane"},
    {"DEVICE", "device"},
    {"STATE", "state"},
    {"REASON", "reason"},
    {"MTU", "mtu"},
    {"TX PACKETS", "tx_packets"},
    {"TX", "tx_bytes", column_unit::bytes},
    {"RX PACKETS", "rx_packets"},
    {"RX", "rx_bytes", column_unit::bytes},
    {"GOOD", "paths.good"},
    {"KEPT", "paths.kept"},
    {"BAD", "paths.assumed_bad"},
    {"DENIED", "paths.denied"},
};

constexpr column client_columns[] = {
    {"SESSION", "session"},
    {"PID", "pid"},
    {"UID", "uid"},
    {"COMMAND", "command"},
    {"QPS", "queue_pairs"},
    {"MEMORY", "registered_bytes", column_unit::bytes},
    {"SHARED", "shared_bytes", column_unit::bytes},
    {"CONNECTED FOR", "connected_for_ns", column_unit::time},
};

constexpr column qp_columns[] = {
    {"QPN", "qpn"},
    {"STATE", "state"},
    {"PEER", "peer"},
    {"PEER QPN", "peer_qpn"},
    {"TX PACKETS", "tx_packets"},
    {"TX", "tx_bytes", column_unit::bytes},
    {"RX PACKETS", "rx_packets"},
    {"RX", "rx_bytes", column_unit::bytes},
    {"AGAIN", "retransmits"},
    {"TIME-OUTS", "timeouts"},
    {"WINDOW", "cwnd_bytes", column_unit::bytes},
    {"IN FLIGHT", "inflight_bytes", column_unit::bytes},
    {"WAITS FOR", "limit"},
    {"PID", "client.pid"},
    {"COMMAND", "client.command"},
};

constexpr column path_columns[] = {
    {"PATH", "path"},
    {"GROUP", "group"},
    {"PLANE", "plane"},
    {"UPLINK", "uplink"},
    {"EV", "ev"},
    {"STATE", "state"},
    {"TX PACKETS", "tx_packets"},
    {"AGAIN", "retransmits"},
    {"LOST", "losses"},
    {"RX PACKETS", "rx_packets"},
    {"CE", "rx_congested"},
    {"TRIMMED", "rx_trimmed"},
    {"ACKS", "acks"},
    {"RTT", "rtt_smoothed_ns", column_unit::time},
    {"MIN RTT", "rtt_min_ns", column_unit::time},
};

constexpr column path_rate_columns[] = {
    {"PATH", "path"},
    {"GROUP", "group"},
    {"PLANE", "plane"},
    {"UPLINK", "uplink"},
    {"EV", "ev"},
    {"STATE", "state"},
    {"TX", "tx_bits_per_s", column_unit::bitrate},
    {"RX", "rx_bits_per_s", column_unit::bitrate},
    {"TX PACKETS", "tx_packets_per_s", column_unit::rate},
    {"LOSS", "loss_ratio", column_unit::share},
    {"RTT", "rtt_smoothed_ns", column_unit::time},
    {"RETIRED", "retirements"},
    {"CHANGED", "unchanged_for_ns", column_unit::time},
    {"WHY", "changed_for"},
};

constexpr column plane_rate_columns[] = {
    {"PLANE", "plane"},
    {"DEVICE", "device"},
    {"STATE", "state"},
    {"REASON", "reason"},
    {"TX", "tx_bits_per_s", column_unit::bitrate},
    {"RX", "rx_bits_per_s", column_unit::bitrate},
    {"TX PACKETS", "tx_packets_per_s", column_unit::rate},
    {"RX PACKETS", "rx_packets_per_s", column_unit::rate},
    {"GOOD", "paths.good"},
    {"KEPT", "paths.kept"},
    {"BAD", "paths.assumed_bad"},
    {"DENIED", "paths.denied"},
};

constexpr column qp_rate_columns[] = {
    {"QPN", "qpn"},
    {"STATE", "state"},
    {"PEER", "peer"},
    {"TX", "tx_bits_per_s", column_unit::bitrate},
    {"RX", "rx_bits_per_s", column_unit::bitrate},
    {"TX PACKETS", "tx_packets_per_s", column_unit::rate},
    {"RX PACKETS", "rx_packets_per_s", column_unit::rate},
    {"AGAIN", "retransmits_per_s", column_unit::rate},
    {"LOSS", "loss_ratio", column_unit::share},
    {"RTT", "rtt_ns", column_unit::time},
    {"WINDOW", "cwnd_bytes", column_unit::bytes},
    {"IN FLIGHT", "inflight_bytes", column_unit::bytes},
};

std::string daemon_text(const json::object &daemon)
{
    if (daemon.at("alive").as_bool())
        return fmt::format("pid {}, {}, up {:.0f} s", daemon.at("pid").to_number<std::uint32_t>(),
                           to_text(daemon.at("state"), column_unit::none), daemon.at("uptime_s").to_number<double>());
    return fmt::format("dead (pid {}); these are its last numbers", daemon.at("pid").to_number<std::uint32_t>());
}

std::string states_text(const json::object &states)
{
    std::string list;
    for (const auto &[name, count] : states)
        fmt::format_to(std::back_inserter(list), "{}{} {}", list.empty() ? "" : ", ", to_text(count, column_unit::none),
                       std::string{name});
    return list;
}

json::array named_counts(const json::object &counts, bool all)
{
    json::array rows;
    for (const auto &[name, count] : counts)
        if (all || count.to_number<double>() != 0)
            rows.push_back(json::object{{"name", name}, {"count", count}});
    return rows;
}

// For what the queue pair has waited while requests were unfinished, the most first; empty: none were.
std::string limits_text(const json::object &qp)
{
    std::vector<std::pair<double, std::string_view>> waits;
    double all = 0;
    for (const std::string_view name : kernel::send_limit_names) {
        const auto *const waited = qp.if_contains(fmt::format("limited_{}_ns", name));
        if (waited == nullptr)
            continue; // for nothing
        waits.emplace_back(waited->to_number<double>(), name);
        all += waits.back().first;
    }
    std::ranges::stable_sort(waits, std::greater{}, &decltype(waits)::value_type::first);
    std::string result;
    for (const auto &[waited, name] : waits)
        if (waited > 0)
            fmt::format_to(std::back_inserter(result), "{}{:.1f} % {}", result.empty() ? "waited for " : ", ",
                           waited / all * 100, name);
    return result.empty() ? result : result + '\n';
}

// Of the queue pair's round trips; empty: it has had none.
std::string round_trips_text(const json::object &qp)
{
    static constexpr column columns[] = {{"ROUND TRIPS BELOW", "below_ns", column_unit::time},
                                         {"COUNT", "count"},
                                         {"SHARE", "share", column_unit::share}};
    const json::array &counts = qp.at("rtt_log2").as_array();
    double all = 0;
    for (const json::value &count : counts)
        all += count.to_number<double>();
    json::array rows;
    for (std::size_t bucket = 0; bucket < counts.size(); ++bucket)
        if (const auto count = counts[bucket].to_number<std::uint64_t>(); count != 0)
            rows.push_back(json::object{{"below_ns", bucket + 1 == counts.size()
                                                         ? json::value(nullptr)
                                                         : json::value(std::uint64_t{1} << (MRC_RTT_SHIFT + bucket))},
                                        {"count", count},
                                        {"share", static_cast<double>(count) / all}});
    return rows.empty() ? std::string{} : '\n' + to_table(columns, rows);
}

// How packets come in and leave, a line for all ports that have it in common.
std::string ways_text(const json::array &ports)
{
    std::vector<std::pair<std::string, std::string>> ways; // and their ports
    for (const json::value &port : ports) {
        const auto said = [&](const char *key) { return to_text(port.at(key), column_unit::none); };
        const std::string way =
            fmt::format("XDP {}, engine {}, receive queues {}", said("xdp"), said("engine"), said("queues"));
        if (const auto at = std::ranges::find(ways, way, &decltype(ways)::value_type::first); at != ways.end())
            at->second += ", " + said("device");
        else
            ways.emplace_back(way, said("device"));
    }
    std::string result;
    for (const auto &[way, devices] : ways)
        fmt::format_to(std::back_inserter(result), "ports     {}: {}\n", devices, way);
    return result;
}

} // namespace

std::string members_text(const json::object &of)
{
    std::vector<std::string> names;
    std::vector<column> lines;
    for (const auto &[name, value] : of) {
        if (!value.is_structured())
            names.emplace_back(name);
        else if (value.is_object())
            for (const auto &inner : value.get_object())
                names.push_back(std::string{name} + "." + std::string{inner.key()});
    }
    lines.reserve(names.size());
    for (const std::string &name : names)
        lines.push_back({.title = name.c_str(),
                         .key = name.c_str(),
                         .measure = name.ends_with("_bytes")                                ? column_unit::bytes
                                    : name.starts_with("rtt_") || name.ends_with("_for_ns") ? column_unit::time
                                                                                            : column_unit::none});
    return to_list(lines, of);
}

std::string status_text(const json::object &status)
{
    std::string result;
    const json::object &paths = status.at("paths").as_object();
    const json::object &qps = status.at("qps").as_object();
    const json::object &totals = status.at("totals").as_object();
    const std::string states = states_text(qps.at("states").as_object());
    auto out = std::back_inserter(result);
    fmt::format_to(out, "instance  {}\n", to_text(status.at("instance"), column_unit::none));
    fmt::format_to(out, "mrcd      {}\n", daemon_text(status.at("daemon").as_object()));
    fmt::format_to(out, "version   {}\n", to_text(status.at("version"), column_unit::none));
    fmt::format_to(out, "payload   {} bytes a packet\n", to_text(status.at("payload_bytes"), column_unit::none));
    fmt::format_to(out, "paths     {} good, {} kept though bad, {} assumed bad, {} denied; groups: {}\n",
                   to_text(paths.at("good"), column_unit::none), to_text(paths.at("kept"), column_unit::none),
                   to_text(paths.at("assumed_bad"), column_unit::none), to_text(paths.at("denied"), column_unit::none),
                   to_text(paths.at("groups"), column_unit::none));
    fmt::format_to(out, "QPs       {}{}\n", to_text(qps.at("count"), column_unit::none),
                   states.empty() ? "" : " (" + states + ")");
    fmt::format_to(out, "data      {} sent in {} packets, {} of them again; {} placed from {} packets\n",
                   to_text(qps.at("tx_bytes"), column_unit::bytes), to_text(qps.at("tx_packets"), column_unit::none),
                   to_text(qps.at("retransmits"), column_unit::none), to_text(qps.at("rx_bytes"), column_unit::bytes),
                   to_text(qps.at("rx_packets"), column_unit::none));
    fmt::format_to(
        out, "wire      {} sent in {} packets; {} received in {}\n", to_text(totals.at("tx_bytes"), column_unit::bytes),
        to_text(totals.at("tx_packets"), column_unit::none), to_text(totals.at("rx_bytes"), column_unit::bytes),
        to_text(totals.at("rx_packets"), column_unit::none));
    result += ways_text(status.at("ports").as_array());
    result += '\n' + ports_text(status.at("ports").as_array());
    result += '\n' + workers_text(status.at("workers").as_array());
    const json::array drops = named_counts(status.at("drops").as_object(), true);
    static constexpr column drop_columns[] = {{"DROPPED FOR", "name"}, {"PACKETS", "count"}};
    result += drops.empty() ? "\nnothing was dropped\n" : '\n' + to_table(drop_columns, drops);
    return result;
}

std::string clients_text(const json::array &clients)
{
    return clients.empty() ? "no clients\n" : to_table(client_columns, clients);
}

std::string client_text(const json::object &client)
{
    std::string workers;
    for (const json::value &worker : client.at("workers").as_array())
        workers += (workers.empty() ? "" : ", ") + to_text(worker, column_unit::none);
    json::object members = client;
    members["workers"] = json_text(workers.empty() ? "-" : workers);
    return members_text(members) + '\n' + qps_text(client.at("qps").as_array());
}

std::string qps_text(const json::array &qps)
{
    return qps.empty() ? "no queue pairs\n" : to_table(qp_columns, qps);
}

std::string qp_text(const json::object &qp)
{
    return members_text(qp) + limits_text(qp) + round_trips_text(qp);
}

std::string ports_text(const json::array &ports)
{
    return ports.empty() ? "no ports\n" : to_table(port_columns, ports);
}

std::string paths_text(const json::array &paths)
{
    return paths.empty() ? "no paths\n" : to_table(path_columns, paths);
}

std::string path_rates_text(const json::array &paths)
{
    return paths.empty() ? "no paths\n" : to_table(path_rate_columns, paths);
}

std::string path_text(const json::object &path)
{
    return members_text(path);
}

std::string counters_text(const json::object &counters, bool all)
{
    json::array rows = named_counts(counters.at("verdicts").as_object(), all);
    if (rows.empty())
        return "nothing was counted\n";
    static constexpr column totals[] = {{"VERDICT", "name"}, {"PACKETS", "count"}};
    static constexpr column rates[] = {{"VERDICT", "name"}, {"PACKETS", "count"}, {"RATE", "rate", column_unit::rate}};
    const auto *seconds = counters.if_contains("seconds");
    if (seconds == nullptr)
        return to_table(totals, rows);
    for (json::value &row : rows)
        row.as_object()["rate"] = row.at("count").to_number<double>() / seconds->to_number<double>();
    return to_table(rates, rows);
}

std::string top_text(const json::object &top, std::size_t lines)
{
    const json::array &planes = top.at("planes").as_array();
    const json::array &qps = top.at("qps").as_array();
    std::string result =
        fmt::format("{}  mrcd {}  {} QPs, over {:.2f} s\n\n", to_text(top.at("instance"), column_unit::none),
                    daemon_text(top.at("daemon").as_object()), qps.size(), top.at("seconds").to_number<double>());
    result += (planes.empty() ? "no ports\n" : to_table(plane_rate_columns, planes)) + '\n';
    const json::array &workers = top.at("workers").as_array();
    result += worker_rates_text(workers) + '\n';
    const json::array &worst = top.at("worst_paths").as_array();
    if (!worst.empty())
        result += "the worst paths\n" + to_table(path_rate_columns, worst) + '\n';
    // The heading, three empty lines, three lines of titles, and the line that tells how many are left out; of the
    // worst paths their heading, titles and an empty line.
    const std::size_t others = planes.size() + workers.size() + 8 + (worst.empty() ? 0 : worst.size() + 3);
    std::size_t shown = qps.size();
    if (lines != 0 && qps.size() + others - 1 > lines)
        shown = lines > others ? lines - others : 1;
    shown = std::min(shown, qps.size());
    const json::array visible(qps.begin(), qps.begin() + static_cast<std::ptrdiff_t>(shown));
    result += qps.empty() ? "no queue pairs\n" : to_table(qp_rate_columns, visible);
    if (shown < qps.size())
        result += fmt::format("and {} more\n", qps.size() - shown);
    return result;
}

} // namespace mrc::ctl
