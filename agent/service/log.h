// SPDX-License-Identifier: Apache-2.0
// The daemon's log: lines on standard error, each with its time and severity, which spdlog writes. Only log.cpp sees
// its headers: they are fmt's whole code in every file that logs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "mrc/abi/maps.h"
#include "service/config/config.h"

namespace spdlog
{
class logger;
}

namespace mrc::service::log
{

// Least severe messages that are logged from now on.
void set_level(log_level least);

// For tests: where lines go from now on; gives back where they went before.
[[nodiscard]] std::shared_ptr<spdlog::logger> replace_logger(std::shared_ptr<spdlog::logger> other);

[[nodiscard]] bool writes(log_level severity);
void write(log_level severity, std::string_view line);

// Where lines of events go instead, with their events: the journal keeps fields beside a line. Empty: where all go.
using event_writer = std::function<void(log_level severity, const std::string &line, const mrc_event_row &event)>;
void set_event_writer(event_writer writer);
// `event`: null where the line is no event's.
void write_event(log_level severity, const std::string &line, const mrc_event_row *event);

template <typename... T>
void debug(fmt::format_string<T...> text, T &&...values)
{
    if (writes(log_level::debug))
        write(log_level::debug, fmt::vformat(text, fmt::make_format_args(values...)));
}
template <typename... T>
void info(fmt::format_string<T...> text, T &&...values)
{
    if (writes(log_level::info))
        write(log_level::info, fmt::vformat(text, fmt::make_format_args(values...)));
}
template <typename... T>
void warn(fmt::format_string<T...> text, T &&...values)
{
    if (writes(log_level::warning))
        write(log_level::warning, fmt::vformat(text, fmt::make_format_args(values...)));
}
template <typename... T>
void error(fmt::format_string<T...> text, T &&...values)
{
    if (writes(log_level::error))
        write(log_level::error, fmt::vformat(text, fmt::make_format_args(values...)));
}

} // namespace mrc::service::log
