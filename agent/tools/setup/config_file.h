// SPDX-License-Identifier: Apache-2.0
// Writes a configuration in one step.
#pragma once

#include <string>
#include <string_view>

namespace mrc::setup
{

// Where a file that is replaced stays.
[[nodiscard]] inline std::string replaced_path(const std::string &path)
{
    return path + ".before-setup";
}

// Nothing but comments, as of a sample that is not in use yet, and of a file that is not there.
[[nodiscard]] bool has_no_setting(std::string_view text);

// Makes its folder where there is none. A file that is there is left alone and the call fails, unless `replace`: then
// it stays under replaced_path(). Throws std::runtime_error, which names the file.
void write_config(const std::string &path, std::string_view text, bool replace);

} // namespace mrc::setup
