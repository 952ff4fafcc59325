// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/daemon_sockets.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "tools/hosts/lookup.h"
#include "tools/mrcctl/error.h"
#include "tools/mrcctl/maps.h"
#include "tools/mrcctl/process.h"

namespace mrc::ctl
{

namespace
{

std::string name_meant(const std::string &name)
{
    const std::vector<std::string> all = running_instances();
    return name.empty() && all.size() == 1 ? all.front() : name;
}

} // namespace

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

std::optional<daemon_process> process_of(const std::string &name)
{
    if (name.empty())
        return std::nullopt;
    try {
        return look_at_daemon(pinned_array<mrc_host_row>{choose_instance(name, ""), "host", 1}[0]);
    } catch (const ctl_error &) {
        return std::nullopt; // its maps are elsewhere, or not for everybody
    }
}

std::string one_instance(const std::string &given)
{
    std::string meant = tools::instances_meant(given);
    const std::vector<std::string> running = running_instances();
    if (!meant.empty() && meant.find(',') == std::string::npos)
        return meant;
    if (meant.empty() && running.size() == 1)
        return running.front();
    if (meant.empty() && running.empty())
        return "default";
    throw ctl_error{
        fmt::format("several instances; name one with --instance or MRC_INSTANCE: {}", instances_in_words())};
}

void refuse_stopped(const std::string &name)
{
    const std::string meant = name_meant(name);
    const auto daemon = process_of(meant);
    if (daemon && daemon->state == "stopped")
        throw ctl_error{fmt::format("mrcd of instance '{}' is stopped: it answers once 'kill -CONT {}', or whoever "
                                    "debugs it, lets it go on",
                                    meant, daemon->pid)};
}

void refuse_silent(const std::string &name, const std::string &why)
{
    const std::string meant = name_meant(name);
    const std::filesystem::path socket = socket_of(meant);
    std::error_code error;
    if (meant.empty())
        throw ctl_error{fmt::format("no mrcd answers below '{}'; {}", socket_root, instances_in_words())};
    const bool may_be_there = std::filesystem::exists(socket, error) || error == std::errc::permission_denied;
    if (!may_be_there)
        throw ctl_error{fmt::format("no mrcd answers as instance '{}'; {}", meant, instances_in_words())};
    if (error || (::access(socket.c_str(), R_OK | W_OK) != 0 && errno == EACCES))
        throw ctl_error{
            fmt::format("'{}' may not be opened: mrcctl needs root, or the group of this socket", socket.string())};
    if (const auto daemon = process_of(meant); daemon && !daemon->alive)
        throw ctl_error{fmt::format("mrcd of instance '{}' (pid {}) has ended", meant, daemon->pid)};
    throw ctl_error{fmt::format("no mrcd answers: {}", why)};
}

} // namespace mrc::ctl
