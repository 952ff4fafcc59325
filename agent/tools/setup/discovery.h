// SPDX-License-Identifier: Apache-2.0
// Finds the other hosts: says hello on each port, and listens, until all have come to the same plan.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/setup/plan.h"

namespace mrc::setup
{

struct discovery_wish {
    hello own; // host, run, name
    std::vector<std::string> ports;
    std::chrono::seconds longest{60};
    std::optional<std::uint32_t> hosts; // this one included, to end as soon as they agree; none: when no more come
};

struct discovery {
    heard_so_far heard;
    plan made;
    std::uint64_t malformed = 0;     // datagrams that are no hello
    std::vector<std::string> silent; // ports that could not send to the end, each with the reason
};

// `say` gets a line when somebody new is heard. Throws std::system_error.
[[nodiscard]] discovery discover(const discovery_wish &wish, const std::function<void(const std::string &)> &say);

} // namespace mrc::setup
