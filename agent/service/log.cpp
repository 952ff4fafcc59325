// SPDX-License-Identifier: Apache-2.0
#include "service/log.h"

#include <memory>
#include <utility>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace mrc::service::log
{

namespace
{

spdlog::level::level_enum level_of(log_level level)
{
    using enum log_level;
    switch (level) {
    case trace:
        return spdlog::level::trace;
    case debug:
        return spdlog::level::debug;
    case info:
        return spdlog::level::info;
    case warning:
        return spdlog::level::warn;
    case error:
        return spdlog::level::err;
    }
    return spdlog::level::info;
}

// Not spdlog's default one, which is the program's where the daemon is part of a program.
std::shared_ptr<spdlog::logger> &logger()
{
    static auto only = [] {
        auto made = std::make_shared<spdlog::logger>("mrcd", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
        made->set_pattern("%Y-%m-%dT%H:%M:%S.%f %l %v");
        return made;
    }();
    return only;
}

event_writer &writer_of_events()
{
    static event_writer only;
    return only;
}

} // namespace

void set_event_writer(event_writer writer)
{
    writer_of_events() = std::move(writer);
}

void write_event(log_level severity, const std::string &line, const mrc_event_row *event)
{
    if (!writes(severity))
        return;
    if (event != nullptr && writer_of_events())
        writer_of_events()(severity, line, *event);
    else
        write(severity, line);
}

std::shared_ptr<spdlog::logger> replace_logger(std::shared_ptr<spdlog::logger> other)
{
    return std::exchange(logger(), std::move(other));
}

void set_level(log_level least)
{
    logger()->set_level(level_of(least));
}

bool writes(log_level severity)
{
    return logger()->should_log(level_of(severity));
}

void write(log_level severity, std::string_view line)
{
    logger()->log(level_of(severity), line);
}

} // namespace mrc::service::log
