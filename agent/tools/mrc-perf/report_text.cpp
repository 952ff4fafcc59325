// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include <fmt/format.h>

#include "tools/mrc-perf/report.h"

namespace mrc::perf
{

namespace
{

namespace json = boost::json;

double number(const json::object &object, const char *name)
{
    json::error_code error;
    const double value = object.at(name).to_number<double>(error);
    return error ? 0 : value;
}

std::string text(const json::object &object, const char *name)
{
    const auto &value = object.at(name).as_string();
    return {value.data(), value.size()};
}

std::string bytes_text(double bytes)
{
    static constexpr const char *units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit)
        bytes /= 1024;
    return unit == 0 ? fmt::format("{:.0f} {}", bytes, units[unit]) : fmt::format("{:.2f} {}", bytes, units[unit]);
}

std::string plane_text(const json::value &planes)
{
    std::string line;
    for (std::size_t plane = 0; plane < planes.as_array().size(); ++plane)
        fmt::format_to(std::back_inserter(line), "{}p{} {}", plane == 0 ? "" : "  ", plane,
                       planes.as_array()[plane].to_number<std::uint64_t>());
    return line.empty() ? "unknown" : line;
}

std::string verified_text(const json::object &report)
{
    if (report.at("verified").is_null())
        return "not asked for";
    return report.at("verified").as_bool() ? "every byte is right" : "NO";
}

void add_latency(std::string &to, const json::object &latency, bool events)
{
    fmt::format_to(
        std::back_inserter(to),
        "  latency        min {:.1f}  p50 {:.1f}  p99 {:.1f}  p99.9 {:.1f}  max {:.1f} us (half a round trip, "
        "{:.0f} samples{})\n",
        number(latency, "min"), number(latency, "p50"), number(latency, "p99"), number(latency, "p999"),
        number(latency, "max"), number(latency, "samples"), events ? ", asleep in between" : "");
}

// `own_host`: both ends are on one, and no plane and no path is between them.
void add_direction(std::string &to, const json::object &part, bool own_host)
{
    auto out = std::back_inserter(to);
    fmt::format_to(out, "  goodput        {:.3f} Gbit/s ({} in {:.3f} s, {:.0f} messages/s)\n",
                   number(part, "goodput_gbps"), bytes_text(number(part, "bytes")), number(part, "duration_ms") / 1e3,
                   number(part, "msg_rate_mps") * 1e6);
    fmt::format_to(out, "  longest stall  {:.1f} us\n", number(part, "max_stall_us"));
    if (own_host) {
        const json::object &sender = part.at("sender").as_object(); // empty: it has not told
        fmt::format_to(out, "  packets        {} within the host\n",
                       sender.empty() ? "unknown" : fmt::format("{:.0f} of data", number(sender, "tx_packets")));
    } else {
        fmt::format_to(out, "  packets sent   {}\n", plane_text(part.at("plane_tx_packets")));
        fmt::format_to(out, "  received       {}\n", plane_text(part.at("plane_rx_packets")));
    }
    fmt::format_to(out, "  sent again     {:.0f} ({:.0f} needlessly; {:.0f} time-outs)\n", number(part, "retransmits"),
                   number(part, "spurious"), number(part, "timeouts"));
    if (own_host)
        return;
    fmt::format_to(
        out,
        "  paths          {:.0f} good, {:.0f} skipped, {:.0f} kept though bad, {:.0f} assumed bad, {:.0f} denied\n",
        number(part, "paths_good"), number(part, "paths_skip"), number(part, "paths_kept"),
        number(part, "paths_assumed_bad"), number(part, "paths_denied"));
}

} // namespace

std::string to_text(const json::object &report)
{
    std::string result;
    auto out = std::back_inserter(result);
    fmt::format_to(out, "{} {} -> {}: {} QPs, messages of {} in {} memory, payload {} bytes per packet\n",
                   text(report, "mode"), text(report, "client"), text(report, "server"),
                   report.at("qps").to_number<std::uint64_t>(), bytes_text(number(report, "size")),
                   text(report, "memory"), report.at("payload_bytes").to_number<std::uint64_t>());
    const bool own_host = report.at("client") == report.at("server");
    if (report.contains("lat_us"))
        add_latency(result, report.at("lat_us").as_object(), report.at("events").as_bool());
    if (report.contains("forward")) {
        result += "client to server\n";
        add_direction(result, report.at("forward").as_object(), own_host);
        result += "server to client\n";
        add_direction(result, report.at("reverse").as_object(), own_host);
        fmt::format_to(out, "both\n  goodput        {:.3f} Gbit/s\n", number(report, "goodput_gbps"));
    } else {
        add_direction(result, report, own_host);
    }
    fmt::format_to(out, "  verified       {}\n", verified_text(report));
    if (text(report, "mode") == "file")
        fmt::format_to(out, "  SHA-256 here   {}\n  SHA-256 there  {}\n",
                       text(report, text(report, "role") == "client" ? "sha256_sent" : "sha256_received"),
                       text(report, text(report, "role") == "client" ? "sha256_received" : "sha256_sent"));
    if (text(report, "status") != "ok")
        fmt::format_to(out, "  status         {}\n", text(report, "status"));
    return result;
}

} // namespace mrc::perf
