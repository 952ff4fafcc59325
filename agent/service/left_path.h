// SPDX-License-Identifier: Apache-2.0
// Paths that this host itself does not want to use, for what crosses them is lost (fabric_map/spine_policy.h).
#pragma once

#include <compare>
#include <cstdint>

#include "mrc/abi/maps.h"

namespace mrc::service
{

struct left_path {
    unsigned plane = 0;
    unsigned uplink = 0;
    std::uint32_t leaf = MRC_FAULT_NOWHERE; // toward that leaf; MRC_FAULT_NOWHERE: toward all
    friend auto operator<=>(const left_path &, const left_path &) = default;
};

} // namespace mrc::service
