// SPDX-License-Identifier: Apache-2.0
// `mrcctl fabric show`: the SRv6 plan of a configuration, and what its switches need. It asks no daemon: a plan is
// looked at before there is one.
#pragma once

#include <optional>
#include <string>

#include "tools/mrcctl/fabric_plan/switch_text.h"

namespace mrc::ctl
{

struct fabric_show_wish {
    std::string file; // mrcd's configuration
    std::string name; // of the one switch that is meant; empty: all
    std::optional<switch_language> language{};
    link_names names{};
    bool json = false;
};

// What is printed. Throws ctl_error for a configuration that mrcd would refuse, one in direct mode, and a switch that
// it has not.
[[nodiscard]] std::string show_fabric(const fabric_show_wish &wish);

} // namespace mrc::ctl
