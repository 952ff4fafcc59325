// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/report.h"

#include <algorithm>
#include <iterator>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "tools/mrcctl/json_text.h"
#include "tools/table/table.h"

namespace mrc::ctl::diagnose
{

namespace
{

namespace json = boost::json;

json::value number_or_null(std::uint32_t number)
{
    return number == nowhere ? json::value(nullptr) : json::value(number);
}

json::value text_or_null(const std::string &text)
{
    return text.empty() ? json::value(nullptr) : json::value(json_text(text));
}

json::object finding_view(const diagnosis_finding &one)
{
    return {
        {"cause", json_text(name_of(one.what))},
        {"is_fault", one.is_fault},
        {"plane", number_or_null(one.plane)},
        {"leaf", number_or_null(one.leaf)},
        {"spine", number_or_null(one.spine)},
        {"device", text_or_null(one.device)},
        {"subject", text_or_null(one.subject)},
        {"direction", one.way == direction::unknown ? json::value(nullptr) : json::value(json_text(name_of(one.way)))},
        {"loss", one.loss},
        {"sentence", json_text(one.sentence)},
        {"evidence", json_text(one.evidence)},
        {"advice", json_text(one.advice)}};
}

std::string plural(std::uint64_t count, const char *one)
{
    return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string looked_at_text(const json::object &at)
{
    const auto count = [&](const char *name) { return at.at(name).to_number<std::uint64_t>(); };
    std::string text =
        fmt::format("looked at {}, {}, {} and {}", plural(count("ports"), "port"), plural(count("peers"), "peer"),
                    plural(count("paths"), "path"), plural(count("queue_pairs"), "queue pair"));
    fmt::format_to(std::back_inserter(text), ", with {} on {}\n", plural(count("probe_packets"), "packet"),
                   plural(count("ways"), "way"));
    if (!at.at("unprobed").is_null())
        fmt::format_to(std::back_inserter(text), "not all could be probed: {}\n",
                       to_text(at.at("unprobed"), column_unit::none));
    return text;
}

} // namespace

json::object report_view(const std::string &instance, const snapshot &at, const findings &found)
{
    json::array all;
    for (const diagnosis_finding &one : found)
        all.push_back(finding_view(one));
    std::uint64_t packets = 0;
    for (const auto &[key, result] : at.trips)
        packets += std::uint64_t{result.small.sent} + result.full.sent;
    return {{"instance", json_text(instance)},
            {"healthy", std::ranges::none_of(found, &diagnosis_finding::is_fault)},
            {"findings", std::move(all)},
            {"looked_at", json::object{{"ports", at.ports.size()},
                                       {"peers", at.peers.size()},
                                       {"paths", at.paths.size()},
                                       {"queue_pairs", at.qps.size()},
                                       {"ways", at.trips.size()},
                                       {"probe_packets", packets},
                                       {"unprobed", text_or_null(at.unprobed)}}}};
}

std::string report_text(const json::object &report)
{
    std::string text;
    auto out = std::back_inserter(text);
    if (report.at("healthy").as_bool())
        fmt::format_to(out, "nothing is at fault\n");
    for (const json::value &one : report.at("findings").as_array())
        fmt::format_to(out, "{}: {}\n  because {}\n  to do: {}\n",
                       one.at("is_fault").as_bool() ? to_text(one.at("cause"), column_unit::none) : "limit",
                       to_text(one.at("sentence"), column_unit::none), to_text(one.at("evidence"), column_unit::none),
                       to_text(one.at("advice"), column_unit::none));
    return text + looked_at_text(report.at("looked_at").as_object());
}

} // namespace mrc::ctl::diagnose
