// SPDX-License-Identifier: Apache-2.0
#include "service/log_level.h"

#include <spdlog/spdlog.h>

namespace mrc::service
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

void set_log_level(log_level level)
{
    spdlog::set_level(level_of(level));
}

} // namespace mrc::service
