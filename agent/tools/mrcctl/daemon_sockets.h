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

// The next two know the daemon by its maps; who may not read them waits for an answer, and is told `why` none came. An
// empty name is that of the only instance.
// Throws ctl_error when it is stopped by a signal: whoever asked would wait.
void refuse_stopped(const std::string &name);
// Throws ctl_error: there is none of this name, it has ended, its socket is others', or `why`.
[[noreturn]] void refuse_silent(const std::string &name, const std::string &why);

} // namespace mrc::ctl
