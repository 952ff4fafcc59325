// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/control_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "tools/mrcctl/json_text.h"
#include "tools/table/table.h"

namespace mrc::ctl
{

namespace
{

namespace json = boost::json;

// "good,assumed_bad"; "-" for none.
std::string joined(const json::array &values)
{
    std::string text;
    for (const json::value &value : values)
        text += (text.empty() ? "" : ",") + to_text(value, column_unit::none);
    return text.empty() ? "-" : text;
}

// Rows with a list in them, which tables do not show, as text.
json::array with_text(json::array rows, const char *list)
{
    for (json::value &row : rows)
        row.as_object()[list] = json::string{joined(row.at(list).as_array())};
    return rows;
}

json::object with_text(json::object row, const char *list)
{
    row[list] = json::string{joined(row.at(list).as_array())};
    return row;
}

bool has(const json::array &rows, const char *key)
{
    return std::ranges::any_of(rows, [key](const json::value &row) {
        const auto *const value = row.as_object().if_contains(key);
        return value != nullptr && !value->is_null();
    });
}

constexpr column format_columns[] = {{"FORMAT", "id"}, {"STATE", "state"}, {"MODE", "mode"}, {"WIDTHS", "widths"}};

constexpr column profile_columns[] = {
    {"PROFILE", "id"},      {"STATE", "state"},
    {"MODE", "mode"},       {"FORMAT", "format"},
    {"EVS", "count"},       {"GOOD", "good"},
    {"BAD", "assumed_bad"}, {"DENIED", "denied"},
    {"UNKNOWN", "unknown"}, {"MIN ACTIVE", "min_active"},
    {"EVENTS", "events"},
};

constexpr column profile_lines[] = {
    {"id", "id"},       {"state", "state"},           {"mode", "mode"},     {"format", "format"},
    {"count", "count"}, {"min_active", "min_active"}, {"events", "events"},
};

constexpr column field_columns[] = {
    {"WIDTH", "width"}, {"INIT", "init"}, {"MIN", "min"}, {"MAX", "max"}, {"MASK", "mask"}};

constexpr column ev_columns[] = {{"EV", "ev"}, {"PORT", "port"}, {"STATE", "state"}};

constexpr column entry_columns[] = {
    {"EV", "ev"}, {"PORT", "port"}, {"STATE", "state"}, {"RESULT", "result"}, {"REASON", "reason"}};
constexpr column replacement_columns[] = {
    {"EV", "ev"}, {"NEW EV", "new_ev"}, {"STATE", "state"}, {"RESULT", "result"}, {"REASON", "reason"}};

constexpr column cc_columns[] = {
    {"PROFILE", "id"},
    {"STATE", "state"},
    {"ALGORITHM", "algorithm"},
    {"TARGET DELAY", "config.target_delay", column_unit::time},
    {"BASE RTT", "config.base_rtt", column_unit::time},
    {"MAX WINDOW", "config.max_cwnd", column_unit::bytes},
};

constexpr column cc_lines[] = {
    {"id", "id"},
    {"state", "state"},
    {"algorithm", "algorithm"},
    {"disable_qa", "config.disable_qa"},
    {"adjust_bytes_threshold", "config.adjust_bytes_threshold", column_unit::bytes},
    {"adjust_period_threshold", "config.adjust_period_threshold", column_unit::time},
    {"base_rtt", "config.base_rtt", column_unit::time},
    {"eta", "config.eta"},
    {"fi", "config.fi"},
    {"fi_scale", "config.fi_scale"},
    {"gamma", "config.gamma"},
    {"max_md_jump", "config.max_md_jump"},
    {"max_cwnd", "config.max_cwnd", column_unit::bytes},
    {"qa_gate", "config.qa_gate"},
    {"qa_threshold", "config.qa_threshold", column_unit::time},
    {"target_delay", "config.target_delay", column_unit::time},
};

constexpr column probe_columns[] = {
    {"EV", "ev"},
    {"PORT", "port"},
    {"SENT", "sent"},
    {"ANSWERED", "answered"},
    {"LOSS %", "loss_percent"},
    {"MIN RTT", "rtt_min_ns", column_unit::time},
    {"AVG RTT", "rtt_mean_ns", column_unit::time},
    {"MAX RTT", "rtt_max_ns", column_unit::time},
    {"CAME IN BY", "answer_port"},
};

constexpr column plane_probe_columns[] = {
    {"PLANE", "plane"},
    {"PORT", "port"},
    {"SENT", "sent"},
    {"ANSWERED", "answered"},
    {"LOSS %", "loss_percent"},
    {"MIN RTT", "rtt_min_ns", column_unit::time},
    {"AVG RTT", "rtt_mean_ns", column_unit::time},
    {"MAX RTT", "rtt_max_ns", column_unit::time},
};

} // namespace

std::string ev_formats_text(const json::array &formats)
{
    return to_table(format_columns, with_text(formats, "widths"));
}

std::string ev_format_text(const json::object &format)
{
    return to_list(format_columns, with_text(format, "widths"));
}

std::string ev_profiles_text(const json::array &profiles)
{
    return to_table(profile_columns, with_text(profiles, "events"));
}

std::string ev_profile_text(const json::object &profile)
{
    std::string text = to_list(profile_lines, with_text(profile, "events"));
    if (const auto *const fields = profile.if_contains("fields"))
        text += '\n' + to_table(field_columns, fields->as_array());
    if (const auto *const evs = profile.if_contains("evs"))
        text += '\n' + to_table(ev_columns, evs->as_array());
    return text;
}

std::string entries_text(const json::array &rows)
{
    const std::span<const column> all = has(rows, "new_ev") ? std::span{replacement_columns} : std::span{entry_columns};
    return to_table(has(rows, "reason") ? all : all.first(all.size() - 1), rows);
}

std::string cc_profiles_text(const json::array &profiles)
{
    return to_table(cc_columns, profiles);
}

std::string cc_profile_text(const json::object &profile)
{
    const std::span<const column> lines{cc_lines};
    return to_list(profile.at("config").is_null() ? lines.first(3) : lines, profile);
}

std::string probes_text(const json::array &rows)
{
    json::array shown = rows;
    for (json::value &row : shown)
        row.as_object()["loss_percent"] = json_text(fmt::format("{:.1f}", 100 * row.at("loss").to_number<double>()));
    return has(rows, "plane") ? to_table(plane_probe_columns, shown) : to_table(probe_columns, shown);
}

std::string port_state_text(const json::object &port)
{
    return fmt::format("port {} is {}\n", to_text(port.at("port"), column_unit::none),
                       port.at("enabled").as_bool() ? "enabled" : "disabled");
}

std::string state_text(const char *name, const json::object &profile)
{
    return fmt::format("{} {} is {}\n", name, to_text(profile.at("id"), column_unit::none),
                       to_text(profile.at("state"), column_unit::none));
}

} // namespace mrc::ctl
