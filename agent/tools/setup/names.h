// SPDX-License-Identifier: Apache-2.0
// Which names the peers of a plan get: those that they say, unless another host has one already.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/setup/plan.h"

namespace mrc::setup
{

struct chosen_names {
    std::map<std::uint64_t, std::string> of; // host; those without one are not in it
    std::vector<std::string> remarks;        // why a host has none, or another than it says
};

// `known`: the configuration that is replaced, "" for none. A peer that has a name there keeps it, whatever it says
// now, and nobody else gets it; of several hosts that say the same new name none does, nor one that says this host's.
[[nodiscard]] chosen_names choose_names(const heard_so_far &heard, const plan &made, std::string_view known);

} // namespace mrc::setup
