// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/daemon_sockets.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mrc::ctl
{

std::filesystem::path socket_of(const std::string &name)
{
    return std::filesystem::path{socket_root} / name / "mrcd.sock";
}

std::vector<std::string> running_instances()
{
    std::vector<std::string> names;
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator{socket_root, error})
        if (std::filesystem::exists(entry.path() / "mrcd.sock", error))
            names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
}

std::string instances_in_words()
{
    const std::vector<std::string> names = running_instances();
    return names.empty() ? "none is running here" : fmt::format("there are: {}", fmt::join(names, ", "));
}

} // namespace mrc::ctl
