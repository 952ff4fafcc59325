// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/report.h"

#include <algorithm>

#include "tools/mrc-perf/address.h"

namespace mrc::perf
{

namespace
{

namespace json = boost::json;

double number_in(const json::object &object, const char *name)
{
    json::error_code error;
    const auto *found = object.if_contains(name);
    const double value = found != nullptr ? found->to_number<double>(error) : 0;
    return error ? 0 : value;
}

json::object section(const json::object &object, const char *name)
{
    const auto *found = object.if_contains(name);
    return found != nullptr && found->is_object() ? found->get_object() : json::object{};
}

json::value value_or(const json::object &object, const char *name, const json::value &fallback)
{
    const auto *found = object.if_contains(name);
    return found != nullptr ? *found : fallback;
}

double longest_stall(const json::object &receiver)
{
    double longest = 0;
    const auto *phases = receiver.if_contains("phases");
    if (phases != nullptr && phases->is_array())
        for (const auto &phase : phases->get_array())
            if (phase.is_object())
                longest = std::max(longest, number_in(phase.get_object(), "max_stall_us"));
    return longest;
}

// One direction, from what its two ends counted. A run that failed may have one of them only.
json::object direction(const json::object &sender, const json::object &receiver)
{
    const json::object sent = section(sender, "traffic");
    const json::object received = section(receiver, "traffic");
    const double seconds = number_in(sender, "seconds");
    const double bytes = number_in(sender, "bytes");
    json::object result;
    result["bytes"] = value_or(sender, "bytes", 0);
    result["messages"] = value_or(sender, "messages", 0);
    result["duration_ms"] = seconds * 1e3;
    result["goodput_gbps"] = seconds > 0 ? bytes * 8e-9 / seconds : 0.0;
    result["msg_rate_mps"] = seconds > 0 ? number_in(sender, "messages") * 1e-6 / seconds : 0.0;
    result["max_stall_us"] = longest_stall(receiver);
    result["phases"] = value_or(receiver, "phases", json::array{});
    for (const char *name : {"retransmits", "spurious", "timeouts", "losses", "nacks", "paths_good", "paths_skip",
                             "paths_kept", "paths_assumed_bad", "paths_denied"})
        result[name] = value_or(sent, name, 0);
    result["plane_tx_packets"] = value_or(sent, "plane_tx_packets", json::array{});
    result["plane_rx_packets"] = value_or(received, "plane_rx_packets", json::array{});
    result["verified"] = value_or(receiver, "verified", nullptr);
    result["complaint"] = value_or(receiver, "complaint", "");
    result["sha256_sent"] = value_or(sender, "sha256", "");
    result["sha256_received"] = value_or(receiver, "sha256", "");
    if (sender.contains("lat_us"))
        result["lat_us"] = section(sender, "lat_us");
    result["sender"] = sent;
    result["receiver"] = received;
    return result;
}

// --bidir: both directions in the fields of one.
void merge(json::object &total, const json::object &forward, const json::object &reverse)
{
    for (const char *name : {"bytes", "messages", "retransmits", "spurious", "timeouts", "losses", "nacks"})
        total[name] = static_cast<std::uint64_t>(number_in(forward, name) + number_in(reverse, name));
    for (const char *name : {"goodput_gbps", "msg_rate_mps"})
        total[name] = number_in(forward, name) + number_in(reverse, name);
    for (const char *name : {"max_stall_us", "duration_ms"})
        total[name] = std::max(number_in(forward, name), number_in(reverse, name));
    const auto &one = forward.at("verified"), &other = reverse.at("verified");
    if (one.is_bool() && other.is_bool())
        total["verified"] = one.get_bool() && other.get_bool();
    total["forward"] = forward;
    total["reverse"] = reverse;
}

const char *mode_name(test_mode mode)
{
    switch (mode) {
    case test_mode::write:
        return "write";
    case test_mode::latency:
        return "latency";
    case test_mode::file:
        return "file";
    }
    return "unknown";
}

std::string status_of(const report_context &context, const run_parts &parts, const json::object &totals)
{
    if (context.status != "ok")
        return context.status;
    if (parts.interrupted || value_or(parts.sent, "interrupted", false) == true ||
        value_or(parts.received_from, "interrupted", false) == true)
        return "interrupted";
    return totals.at("verified") == false ? "mismatch" : "ok";
}

} // namespace

json::object make_report(const report_context &context, const run_parts &parts)
{
    const bool client = context.is_client;
    const test_plan &plan = context.plan;
    const auto forward =
        client ? direction(parts.sent, parts.sent_result) : direction(parts.received_from, parts.received);
    json::object totals = forward;
    if (plan.bidir)
        merge(totals, forward,
              client ? direction(parts.received_from, parts.received) : direction(parts.sent, parts.sent_result));

    json::object report;
    report["status"] = status_of(context, parts, totals);
    report["error"] = context.error.empty() ? value_or(totals, "complaint", "") : json::value(context.error);
    if (!parts.missing.empty())
        report["missing"] = parts.missing; // why counters are
    report["role"] = client ? "client" : "server";
    report["mode"] = mode_name(plan.mode);
    report["client"] = to_text(client ? context.local.gid : context.peer.gid);
    report["server"] = to_text(client ? context.peer.gid : context.local.gid);
    report["size"] = plan.size;
    report["qps"] = plan.qps;
    report["window"] = plan.window;
    report["memory"] = memory_name(plan.memory);
    report["bidir"] = plan.bidir;
    report["events"] = plan.events;
    report["rate"] = plan.rate;
    report["payload_bytes"] = client ? context.local.payload_bytes : context.peer.payload_bytes;
    if (plan.mode == test_mode::file) {
        report["file"] = context.file;
        report["file_bytes"] = plan.file_bytes;
    }
    for (auto &[name, value] : totals)
        if (name != "complaint")
            report[name] = value;
    report["intervals"] = context.intervals;
    return report;
}

int exit_status(const json::object &report)
{
    if (report.at("status") == "interrupted")
        return 130;
    return report.at("status") == "ok" ? 0 : 1;
}

} // namespace mrc::perf
