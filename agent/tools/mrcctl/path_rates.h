// SPDX-License-Identifier: Apache-2.0
// What went on on paths between two looks at the maps, and what the history of events tells of each.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include <boost/json/array.hpp>

#include "mrc/abi/maps.h"
#include "tools/mrcctl/maps.h"
#include "tools/mrcctl/views.h"

namespace mrc::ctl
{

struct path_sample {
    struct rows {
        mrc_path_row path{};
        mrc_signal_row signal{};
    };
    std::uint64_t time_ns = 0;           // CLOCK_MONOTONIC
    std::map<std::uint32_t, rows> paths; // by number
};

[[nodiscard]] path_sample take_path_sample(const host_maps &maps, const path_filter &wanted);

// The paths of `after`, each with its rates since `before`, the share of its packets that was found lost meanwhile
// (null: none was sent), how often it has left use, and when and why it came into its state, both as far as `events`,
// in their order, go back.
[[nodiscard]] boost::json::array path_rates(const path_sample &before, const path_sample &after,
                                            std::span<const mrc_event_row> events);

// So many of path_rates() as lost most, those of them that lost nothing by their round trips; none that carries
// nothing.
[[nodiscard]] boost::json::array worst_paths(boost::json::array paths, std::size_t most);

} // namespace mrc::ctl
