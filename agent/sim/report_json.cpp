// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "sim/report.h"

namespace mrc::sim
{

namespace
{

std::string quoted(const std::string &text)
{
    std::string result = "\"";
    for (const char each : text) {
        if (each == '"' || each == '\\')
            result += '\\';
        if (static_cast<unsigned char>(each) < 0x20)
            result += fmt::format("\\u{:04x}", static_cast<unsigned>(each));
        else
            result += each;
    }
    return result + "\"";
}

std::string number(double value)
{
    return std::isfinite(value) ? fmt::format("{:.10g}", value) : "null";
}

std::string ends(const value_range &range)
{
    return fmt::format("[{}, {}]", number(range.least), number(range.most));
}

// What a chart over time needs: when each sample was taken, and one list per series.
void put_samples(std::string &out, const time_series &samples)
{
    const auto put = std::back_inserter(out);
    fmt::format_to(put, R"(, "flow_series": {}, "samples": {{"time_us": [)", samples.flow_series);
    const char *comma = "";
    for (const auto at : samples.at) {
        fmt::format_to(put, "{}{}", comma, number(in_microseconds(at)));
        comma = ", ";
    }
    out += "]";
    for (std::size_t column = 0; column < samples.columns.size(); ++column) {
        fmt::format_to(put, ", {}: [", quoted(samples.columns[column]));
        comma = "";
        for (const auto &row : samples.rows) {
            fmt::format_to(put, "{}{}", comma, number(row[column]));
            comma = ", ";
        }
        out += "]";
    }
    out += "}";
}

void put_run(std::string &out, const run_result &run)
{
    const auto put = std::back_inserter(out);
    fmt::format_to(put, "    {{\"variant\": {}", quoted(run.variant));
    if (run.loss)
        fmt::format_to(put, ", \"loss\": {}", number(*run.loss));
    if (run.bytes)
        fmt::format_to(put, ", \"bytes\": {}", *run.bytes);
    if (run.seed)
        fmt::format_to(put, ", \"seed\": {}", *run.seed);
    out += ", \"metrics\": {";
    const char *comma = "";
    for (const auto &[name, value] : run.metrics) {
        fmt::format_to(put, "{}{}: {}", comma, quoted(name), number(value));
        comma = ", ";
    }
    out += "}";
    put_samples(out, run.samples);
    out += "}";
}

} // namespace

std::string report_json(const scenario_results &results)
{
    std::string out;
    const auto put = std::back_inserter(out);
    fmt::format_to(put,
                   "{{\n  \"scenario\": {},\n  \"title\": {},\n  \"ok\": {},\n  \"y_metric\": {},\n  \"y_label\": "
                   "{},\n  \"runs\": [\n",
                   quoted(results.what.id), quoted(results.what.title), results.all_hold(),
                   quoted(results.what.report.y_metric), quoted(results.what.report.y_label));
    for (std::size_t i = 0; i < results.runs.size(); ++i) {
        put_run(out, results.runs[i]);
        out += i + 1 < results.runs.size() ? ",\n" : "\n";
    }
    out += "  ],\n  \"bounds\": [\n";
    for (std::size_t i = 0; i < results.verdicts.size(); ++i) {
        const bound &each = results.what.bounds[i];
        const bound_verdict &found = results.verdicts[i];
        fmt::format_to(put, "    {{\"what\": {}, \"paper\": {}, \"measured\": {}, \"between\": {}, \"ok\": {}}}{}\n",
                       quoted(each.what), quoted(each.paper),
                       found.problem.empty() ? ends(found.measured) : quoted(found.problem), ends(each.between),
                       found.holds, i + 1 < results.verdicts.size() ? "," : "");
    }
    out += "  ]\n}\n";
    return out;
}

} // namespace mrc::sim
