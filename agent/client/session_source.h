// SPDX-License-Identifier: Apache-2.0
// Where sessions come from: mrcd, unless a test puts something else in its place.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "client/daemon_socket.h"

namespace mrc::client
{

struct session_source {
    std::vector<daemon_instance> (*find)() = &find_instances;
    std::vector<result<host_description>> (*describe)(std::span<const daemon_instance> all) = &describe_instances;
    result<std::shared_ptr<daemon_channel>> (*open)(const daemon_instance &where) = &daemon_channel::open;
};

[[nodiscard]] session_source current_session_source();

// Before the first call of the library; not thread-safe against it.
void replace_session_source(const session_source &other);

} // namespace mrc::client
