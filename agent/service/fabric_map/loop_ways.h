// SPDX-License-Identifier: Apache-2.0
// The ways that loops of the fabric map go, in the order of the rows of `loops`: of each plane that this host has a
// port on, first to the leaf and back, then by each spine.
//
//   leaf         block:T0:host        port → T0 → port
//   spine        block:T0:T1:T0:host  port → T0 → T1 → T0 → port
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mrc/abi/maps.h"
#include "protocol/types.h"
#include "service/config/config.h"
#include "service/fabric_rules.h"

namespace mrc::service
{

struct loop_way {
    protocol::plane_index plane;
    std::optional<std::uint32_t> spine; // none: it turns back at the leaf
    std::uint32_t leaf_row = 0;         // of the plane's way to the leaf
    mrc_ip carrier{};
};

// By that spine, which counts for nothing toward a host behind the own leaf.
[[nodiscard]] mrc_ip carrier_to(const daemon_config &config, protocol::plane_index plane, std::uint32_t spine,
                                host_place to);

// Out by one spine to another leaf, and back by another spine: six uSIDs, for which the block of the site's plan has to
// leave room.
[[nodiscard]] bool has_room_to_cross(const daemon_config &config);
struct crossing_way {
    std::uint32_t out = 0;
    std::uint32_t leaf = 0;
    std::uint32_t back = 0;
};
[[nodiscard]] mrc_ip crossing_carrier(const daemon_config &config, protocol::plane_index plane,
                                      const crossing_way &way);

// None where there is no fabric map: in direct mode, and when it is switched off.
[[nodiscard]] std::vector<loop_way> loop_ways_of(const daemon_config &config);
// With those behind them whose carriers change (crossing_loops.h), which begin as the leaf's: as the rows of `loops`.
[[nodiscard]] std::vector<loop_way> all_loop_ways_of(const daemon_config &config);

} // namespace mrc::service
