// SPDX-License-Identifier: Apache-2.0
// A command as execvp() takes it.
#pragma once

#include <string>
#include <vector>

namespace mrc::ctl
{

// Ends with a null pointer; borrowed from `command`.
[[nodiscard]] inline std::vector<char *> argument_list(const std::vector<std::string> &command)
{
    std::vector<char *> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string &argument : command)
        arguments.push_back(const_cast<char *>(argument.c_str()));
    arguments.push_back(nullptr);
    return arguments;
}

} // namespace mrc::ctl
