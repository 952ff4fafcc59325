// SPDX-License-Identifier: Apache-2.0
// The configuration of mrcd that follows from a plan.
#pragma once

#include <string>
#include <vector>

#include "service/ports/own_addresses.h"
#include "tools/setup/names.h"
#include "tools/setup/plan.h"

namespace mrc::setup
{

// The ports that the plan has a plane for, with their addresses.
[[nodiscard]] std::vector<service::device_address> addresses_of(const heard_so_far &heard, const plan &made,
                                                                const std::vector<std::string> &devices);

// Ten lines for two planes and one other host; one more for each further of them, and one for an instance that is not
// "default".
[[nodiscard]] std::string config_text(const heard_so_far &heard, const plan &made,
                                      const std::vector<std::string> &devices, const std::string &instance,
                                      const chosen_names &names);

} // namespace mrc::setup
