// SPDX-License-Identifier: Apache-2.0
// Cgroups of version 2: where they are, which one this process is in, and one of its own for a command.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "kernel/unique_fd.h"

namespace mrc::ctl
{

// The folder where cgroup v2 is mounted, from the text of /proc/self/mountinfo; beside v1 ("hybrid") it is one below
// /sys/fs/cgroup. Empty: nowhere.
[[nodiscard]] std::filesystem::path cgroup_root(std::string_view mountinfo);
// Of this process, below that folder, from the text of /proc/self/cgroup. Empty: it is in none of version 2.
[[nodiscard]] std::string cgroup_path(std::string_view cgroups);

// Throw ctl_error.
[[nodiscard]] std::filesystem::path own_cgroup();
// The folder of a systemd unit, which must run.
[[nodiscard]] std::filesystem::path cgroup_of_unit(const std::string &unit);
[[nodiscard]] kernel::unique_fd open_cgroup(const std::filesystem::path &folder);

// A cgroup below that of this process, for a command and its descendants. Those that outlive the object go back to
// where it was made, and it is removed. What a killed process has left is removed by the next one.
class command_cgroup
{
public:
    command_cgroup(); // throws ctl_error
    command_cgroup(const command_cgroup &) = delete;
    command_cgroup &operator=(const command_cgroup &) = delete;
    ~command_cgroup();

    [[nodiscard]] const std::filesystem::path &folder() const { return folder_; }
    // Moves the calling process there. False with errno set. Safe between fork and exec.
    [[nodiscard]] bool enter() const;

private:
    std::filesystem::path parent_;
    std::filesystem::path folder_;
    std::string processes_;
};

} // namespace mrc::ctl
