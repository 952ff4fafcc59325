// SPDX-License-Identifier: Apache-2.0
#include "service/config/config_reload.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace mrc::service
{

namespace
{

using namespace std::string_view_literals;

// Of [transport], what queue pairs take when they are made. Path groups, which all of them share, take the rest.
constexpr std::array queue_pair_options{"window_psns"sv,  "congestion"sv, "congestion_scope"sv, "link_gbps"sv,
                                        "base_rtt_us"sv,  "timeout"sv,    "linear"sv,           "exponential"sv,
                                        "window_bytes"sv, "trim_nack"sv};
constexpr std::array congestion_options{"congestion"sv,  "congestion_scope"sv, "link_gbps"sv,
                                        "base_rtt_us"sv, "window_bytes"sv,     "trim_nack"sv};
constexpr std::array daemon_options_at_once{"group"sv, "drain_ms"sv, "log_level"sv};

template <std::size_t Count>
bool is_one_of(const std::array<std::string_view, Count> &names, std::string_view name)
{
    return std::ranges::find(names, name) != names.end();
}

// Names each array table whose rows are more or fewer; its rows cannot be compared.
std::vector<std::string_view> resized_tables(const daemon_config &current, const daemon_config &fresh)
{
    std::vector<std::string_view> tables;
    for (const std::string_view table : {port_table, ev_profile_table, cc_profile_table})
        if (rows_of(current, table) != rows_of(fresh, table))
            tables.push_back(table);
    return tables;
}

void reload_option(const option &candidate, std::size_t row, daemon_config &current, const daemon_config &fresh,
                   reload_report &report)
{
    const std::string was = candidate.as_toml(current, row);
    const std::string wanted = candidate.as_toml(fresh, row);
    if (was == wanted)
        return;
    const takes_effect when = when_changed(candidate);
    if (when == takes_effect::after_restart) {
        report.needs_restart.push_back(
            fmt::format("{}: stays {}, {} needs a restart", candidate.name(row), was, wanted));
        return;
    }
    candidate.copy(current, fresh, row);
    report.changed.push_back(fmt::format("{}: {} is now {}{}", candidate.name(row), was, wanted,
                                         when == takes_effect::in_new_sessions ? ", in new sessions" : ""));
    if (candidate.table == "transport" && is_one_of(congestion_options, candidate.key))
        report.congestion_changed = true;
}

} // namespace

takes_effect when_changed(const option &changed)
{
    using enum takes_effect;
    if (changed.table == "daemon")
        return is_one_of(daemon_options_at_once, changed.key) ? at_once : after_restart;
    if (changed.table == "limits")
        return in_new_sessions;
    if (changed.table == "transport")
        return is_one_of(queue_pair_options, changed.key) ? in_new_sessions : after_restart;
    if (changed.table == "peer_defaults") // payload goes into the size of packets, which is the same for all
        return changed.key != "payload" ? in_new_sessions : after_restart;
    return changed.table == "wire" && changed.key == "oor" ? in_new_sessions : after_restart;
}

reload_report reload_config(daemon_config &current, const daemon_config &fresh)
{
    reload_report report;
    const auto resized = resized_tables(current, fresh);
    for (const std::string_view table : resized)
        report.needs_restart.push_back(fmt::format("[[{}]]: stays {} times, {} times needs a restart", table,
                                                   rows_of(current, table), rows_of(fresh, table)));
    for (const option &candidate : config_options()) {
        if (std::ranges::find(resized, candidate.table) != resized.end())
            continue;
        for (std::size_t row = 0; row < rows_of(current, candidate.table); ++row)
            reload_option(candidate, row, current, fresh, report);
    }
    return report;
}

} // namespace mrc::service
