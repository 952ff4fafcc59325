// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/sweep.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <fmt/format.h>

namespace mrc::perf
{

namespace
{

namespace json = boost::json;

double number(const json::object &object, const char *name)
{
    json::error_code error;
    const auto *found = object.if_contains(name);
    const double value = found != nullptr ? found->to_number<double>(error) : 0;
    return error ? 0 : value;
}

void add(json::object &sum, const json::object &run)
{
    for (const char *name : {"bytes", "messages", "retransmits", "spurious", "timeouts", "losses", "nacks"})
        sum[name] = static_cast<std::uint64_t>(number(sum, name) + number(run, name));
    sum["duration_ms"] = number(sum, "duration_ms") + number(run, "duration_ms");
    sum["max_stall_us"] = std::max(number(sum, "max_stall_us"), number(run, "max_stall_us"));
    if (sum.at("verified") == true)
        sum["verified"] = run.at("verified");
}

} // namespace

std::string table_head(const test_plan &plan)
{
    if (plan.mode == test_mode::latency)
        return fmt::format("{:>11} {:>11} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "MsgSize", "Operations", "min us",
                           "p50 us", "p99 us", "p99.9 us", "max us");
    return fmt::format("{:>11} {:>11} {:>10} {:>10}\n", "MsgSize", "Operations", "Gb/s", "Mmsg/s");
}

std::string table_line(const json::object &report)
{
    const std::string begin = fmt::format("{:>11.0f} {:>11.0f}", number(report, "size"), number(report, "messages"));
    const auto *latency = report.if_contains("lat_us");
    if (latency == nullptr || !latency->is_object())
        return fmt::format("{} {:>10.3f} {:>10.6f}\n", begin, number(report, "goodput_gbps"),
                           number(report, "msg_rate_mps"));
    const auto &at = latency->get_object();
    return fmt::format("{} {:>10.2f} {:>10.2f} {:>10.2f} {:>10.2f} {:>10.2f}\n", begin, number(at, "min"),
                       number(at, "p50"), number(at, "p99"), number(at, "p999"), number(at, "max"));
}

json::object combine(const test_plan &plan, const std::vector<json::object> &reports)
{
    if (plan.sizes.empty())
        return reports.back();
    json::object all;
    for (const char *name : {"status", "error", "role", "mode", "client", "server", "qps", "bidir", "events", "rate",
                             "memory", "payload_bytes"})
        all[name] = reports.back().at(name);
    all["verified"] = reports.front().at("verified");
    json::array runs;
    for (const json::object &run : reports) {
        add(all, run);
        runs.push_back(run);
    }
    const double seconds = number(all, "duration_ms") * 1e-3;
    all["goodput_gbps"] = seconds > 0 ? number(all, "bytes") * 8e-9 / seconds : 0.0;
    all["msg_rate_mps"] = seconds > 0 ? number(all, "messages") * 1e-6 / seconds : 0.0;
    all["sweep"] = std::move(runs);
    return all;
}

} // namespace mrc::perf
