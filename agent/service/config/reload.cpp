// SPDX-License-Identifier: Apache-2.0
#include "service/config/reload.h"

#include <algorithm>
#include <array>
#include <utility>

#include "service/config/options.h"
#include <fmt/format.h>

namespace mrc::service
{

namespace
{

using namespace std::string_view_literals;

// Of [transport], what queue pairs take when they are made. Path groups, which all of them share, take the rest.
constexpr std::array queue_pair_options{"window_psns"sv,  "congestion"sv, "congestion_scope"sv, "link_gbps"sv,
                                        "base_rtt_us"sv,  "timeout"sv,    "linear"sv,           "exponential"sv,
                                        "window_bytes"sv, "trim_nack"sv,  "target_delay_us"sv};
constexpr std::array congestion_options{"congestion"sv,   "congestion_scope"sv, "link_gbps"sv,      "base_rtt_us"sv,
                                        "window_bytes"sv, "trim_nack"sv,        "target_delay_us"sv};
constexpr std::array daemon_options_at_once{"group"sv, "drain_ms"sv, "log_level"sv};

template <std::size_t Count>
bool is_one_of(const std::array<std::string_view, Count> &names, std::string_view name)
{
    return std::ranges::find(names, name) != names.end();
}

// Of a value that stays.
void keep_origin(const std::string &name, const options::origins &before, options::origins &now)
{
    now.given.erase(name);
    if (const auto known = before.given.find(name); known != before.given.end())
        now.given.insert(*known);
}

// False: the old value stays.
bool reload_option(std::string_view table, const options::option &candidate, const std::string &name, void *current,
                   const void *fresh, reload_report &report)
{
    const std::string was = candidate.as_toml(current);
    const std::string wanted = candidate.as_toml(fresh);
    if (was == wanted)
        return true;
    const takes_effect when = when_changed(table, candidate.key);
    if (when == takes_effect::after_restart) {
        report.needs_restart.push_back(fmt::format("{}: stays {}, {} needs a restart", name, was, wanted));
        return false;
    }
    candidate.copy(current, fresh);
    report.changed.push_back(fmt::format("{}: {} is now {}{}", name, was, wanted,
                                         when == takes_effect::in_new_sessions ? ", in new sessions" : ""));
    if (table == "transport" && is_one_of(congestion_options, candidate.key))
        report.congestion_changed = true;
    return true;
}

} // namespace

takes_effect when_changed(std::string_view table, std::string_view key)
{
    using enum takes_effect;
    if (table == "daemon")
        return is_one_of(daemon_options_at_once, key) ? at_once : after_restart;
    if (table == "limits")
        return in_new_sessions;
    if (table == "transport")
        return is_one_of(queue_pair_options, key) ? in_new_sessions : after_restart;
    if (table == "peer_defaults") // payload goes into the size of packets, which is the same for all
        return key != "payload" ? in_new_sessions : after_restart;
    if ((table == "peer" && key == "name") || (table == "fabric" && key == "hosts_file"))
        return at_once;
    return table == "wire" && key == "oor" ? in_new_sessions : after_restart;
}

reload_report reload_config(daemon_config &current, const daemon_config &fresh)
{
    reload_report report;
    options::origins origin = fresh.origin;
    for (const options::part &table : config_options().parts()) {
        const std::size_t rows = table.count(&current);
        if (rows != table.count(&fresh)) { // they cannot be compared one by one
            report.needs_restart.push_back(
                fmt::format("[[{}]]: stays {} times, {} times needs a restart", table.key, rows, table.count(&fresh)));
            for (std::size_t row = 0; row < rows; ++row)
                for (const options::option &each : table.content->options())
                    keep_origin(fmt::format("{}.{}", table.name(row), each.key), current.origin, origin);
            continue;
        }
        for (std::size_t row = 0; row < rows; ++row)
            for (const options::option &each : table.content->options()) {
                const std::string name = fmt::format("{}.{}", table.name(row), each.key);
                // What neither file says differs by what the daemon has found for itself.
                const bool is_given = current.origin.has(name) || fresh.origin.has(name);
                if (is_given &&
                    !reload_option(table.key, each, name, table.at(&current, row), table.at(&fresh, row), report))
                    keep_origin(name, current.origin, origin);
            }
    }
    current.origin = std::move(origin);
    return report;
}

} // namespace mrc::service
