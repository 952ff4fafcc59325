// SPDX-License-Identifier: Apache-2.0
// How every program here ends that is called wrongly: one line on standard error, and a status that is no other
// failure's, so that what started it knows that another try would change nothing (RestartPreventExitStatus= of mrcd's
// units).
#pragma once

#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace mrc::tools
{

inline constexpr int usage_status = 2;

// The status to end with. Prints the help or version that was asked for, or what is wrong.
[[nodiscard]] inline int end_of(const CLI::App &app, const CLI::ParseError &error, std::string_view program)
{
    if (error.get_exit_code() == 0)
        return app.exit(error);
    fmt::print(stderr, "{}: {}; see {} --help\n", program, error.what(), program);
    return usage_status;
}

} // namespace mrc::tools
