// SPDX-License-Identifier: Apache-2.0
// Folders of the daemon in which nobody else can have put anything, and which it can empty when it has become another
// user than the one that made them.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <system_error>

#include <sys/types.h>

#include "kernel/privileges.h"

namespace mrc::kernel
{

struct folder_problem {
    std::string what;
    std::string remedy; // a command
};
// Why what is in `folder` may be another's than root's or `user`'s: a folder on the way there, as far as it exists,
// belongs to a third one, who could exchange what is below, or may be written by others (unless it is sticky: what is
// in it is judged by its own owner). /sys/fs/bpf may be written by anybody on many hosts. Nothing: there is no reason.
[[nodiscard]] std::optional<folder_problem> find_folder_problem(const std::string &folder, uid_t user);

// Makes the folder and what is missing above, or takes back what an earlier process has given to `user`: as long as the
// caller works in it, it is the caller's. True when it is new or was the user's: then it may be given away.
[[nodiscard]] std::expected<bool, std::error_code> claim_folder(const std::string &folder, uid_t user);

// Throws startup_error.
void give_folder(const std::string &folder, const user_identity &to);

} // namespace mrc::kernel
