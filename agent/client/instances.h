// SPDX-License-Identifier: Apache-2.0
// find_instances() (client/daemon_channel.h) below any folder.
#pragma once

#include <string>
#include <vector>

#include "client/daemon_channel.h"

namespace mrc::client
{

// `names`: a comma list, whose order is kept; nullptr or empty: all folders of `root` with a socket, in name order.
[[nodiscard]] std::vector<daemon_instance> find_instances_under(const std::string &root, const char *names);

} // namespace mrc::client
