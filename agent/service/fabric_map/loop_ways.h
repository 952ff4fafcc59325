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

// None where there is no fabric map: in direct mode, and when it is switched off.
[[nodiscard]] std::vector<loop_way> loop_ways_of(const daemon_config &config);

} // namespace mrc::service
