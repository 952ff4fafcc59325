// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/instance.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/mrcctl/error.h"

namespace mrc::ctl
{

namespace
{

[[noreturn]] void refuse(const std::filesystem::path &path, const std::error_code &error)
{
    const bool denied = error == std::errc::permission_denied || error == std::errc::operation_not_permitted;
    throw ctl_error{fmt::format("cannot read '{}': {}{}", path.string(), error.message(),
                                denied ? " (this needs root, or CAP_BPF and access to this directory)" : "")};
}

bool has_host_map(const std::filesystem::path &directory)
{
    std::error_code error;
    const bool there = std::filesystem::exists(directory / "host", error);
    if (error)
        refuse(directory, error);
    return there;
}

std::string listed(const std::vector<std::string> &names)
{
    return names.empty() ? std::string{"none is running here"}
                         : fmt::format("{}: {}", names.size() == 1 ? "there is" : "there are", fmt::join(names, ", "));
}

} // namespace

std::vector<std::string> find_instances(const std::filesystem::path &root)
{
    std::vector<std::string> names;
    std::error_code error;
    std::filesystem::directory_iterator entries{root, error};
    if (error == std::errc::no_such_file_or_directory)
        return names;
    if (error)
        refuse(root, error);
    for (const auto &entry : entries)
        if (entry.is_directory() && has_host_map(entry.path()))
            names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
}

instance choose_instance(const std::string &given, const std::string &environment, const std::filesystem::path &root)
{
    const std::string &name = given.empty() ? environment : given;
    const std::vector<std::string> found = find_instances(root);
    if (!name.empty()) {
        if (std::ranges::find(found, name) == found.end())
            throw ctl_error{fmt::format("no instance '{}'{}; {}", name,
                                        given.empty() ? " (named by MRC_INSTANCE; one name is allowed here)" : "",
                                        listed(found))};
        return {.name = name, .pins = root / name};
    }
    if (found.empty())
        throw ctl_error{fmt::format("no mrcd has pinned its maps below '{}': none is running, or the BPF file system "
                                    "is another one (enter a network namespace by nsenter --net, ip netns exec hides "
                                    "it)",
                                    root.string())};
    if (found.size() > 1)
        throw ctl_error{
            fmt::format("several instances; name one with --instance or MRC_INSTANCE: {}", fmt::join(found, ", "))};
    return {.name = found.front(), .pins = root / found.front()};
}

} // namespace mrc::ctl
