// SPDX-License-Identifier: Apache-2.0
// Where daemons listen: /run/mrc/INSTANCE/mrcd.sock.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tools/mrcctl/process.h"

namespace mrc::ctl
{

inline constexpr const char *socket_root = "/run/mrc";

[[nodiscard]] std::filesystem::path socket_of(const std::string &name);
// Instances with a socket, in name order as libmrc numbers their devices. A daemon that was killed leaves its own.
[[nodiscard]] std::vector<std::string> running_instances();
// "none is running here", or "there are: a, b".
[[nodiscard]] std::string instances_in_words();

// The one instance whose run folder is meant: the option's value, MRC_INSTANCE, or the only one; "default" where none
// runs. That it runs is no condition. Throws ctl_error when several do.
[[nodiscard]] std::string one_instance(const std::string &given);
// By its maps; nothing: they are not there, or not for everybody.
[[nodiscard]] std::optional<daemon_process> process_of(const std::string &name);

// The next two know the daemon by its maps; who may not read them waits for an answer, and is told `why` none came. An
// empty name is that of the only instance.
// Throws ctl_error when it is stopped by a signal: whoever asked would wait.
void refuse_stopped(const std::string &name);
// Throws ctl_error: there is none of this name, it has ended, its socket is others', or `why`.
[[noreturn]] void refuse_silent(const std::string &name, const std::string &why);

} // namespace mrc::ctl
