// SPDX-License-Identifier: Apache-2.0
// What has gone over each path of a host between two looks at its maps.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/mrc-view/host_rows.h"

namespace mrc::view
{

struct path_growth {
    numbered_path now{};
    std::uint64_t tx_packets = 0;
    std::uint64_t tx_bytes = 0;
    std::uint64_t rx_bytes = 0;
    std::uint64_t retransmits = 0;
    std::uint64_t losses = 0;
};

// Of all paths in use at the end. A row that was another path's before counts from zero.
[[nodiscard]] std::vector<path_growth> growth_between(const host_rows &before, const host_rows &after);

[[nodiscard]] double seconds_between(const host_rows &before, const host_rows &after);

} // namespace mrc::view
