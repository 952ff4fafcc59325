// SPDX-License-Identifier: Apache-2.0
// Where daemons listen: /run/mrc/INSTANCE/mrcd.sock.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace mrc::ctl
{

inline constexpr const char *socket_root = "/run/mrc";

[[nodiscard]] std::filesystem::path socket_of(const std::string &name);
// Instances with a socket, in name order as libmrc numbers their devices. A daemon that was killed leaves its own.
[[nodiscard]] std::vector<std::string> running_instances();
// "none is running here", or "there are: a, b".
[[nodiscard]] std::string instances_in_words();

} // namespace mrc::ctl
