// SPDX-License-Identifier: Apache-2.0
#include "service/log.h"

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

} // namespace

void start()
{
    spdlog::set_default_logger(spdlog::stderr_color_st("mrcd"));
    spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%f %l %v");
}

void set_level(log_level least)
{
    spdlog::set_level(level_of(least));
}

bool writes(log_level severity)
{
    return spdlog::should_log(level_of(severity));
}

void write(log_level severity, std::string_view line)
{
    spdlog::log(level_of(severity), line);
}

} // namespace mrc::service::log
