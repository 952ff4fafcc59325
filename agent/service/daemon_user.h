// SPDX-License-Identifier: Apache-2.0
// The user that mrcd runs as once it has started.
#pragma once

#include <expected>
#include <string>

#include "kernel/privileges.h"
#include "service/config/config.h"

namespace mrc::service
{

struct daemon_user {
    kernel::user_identity who;
    bool is_lacking = false; // no user was named, and this system has no mrc: whoever started it
};

// [daemon] user; "auto" is the user mrc where the system has it. A daemon that is not started by root stays what it is,
// unless a user is named. The error says what is wrong with the option.
[[nodiscard]] std::expected<daemon_user, std::string> user_for(const daemon_config &config);

} // namespace mrc::service
