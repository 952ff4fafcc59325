// SPDX-License-Identifier: Apache-2.0
// Peers as the maps have them: a host may have several addresses there.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mrc/abi/maps.h"
#include "tools/mrcctl/maps.h"

namespace mrc::ctl
{

// Of a host: the same whichever of its addresses a row belongs to. Path group and downlink.
using host_key = std::pair<std::uint32_t, std::uint16_t>;

[[nodiscard]] inline host_key key_of(const mrc_peer_row &row)
{
    return {row.group_base, row.host_usid};
}

struct peer_place {
    mrc_ip address{}; // that programs know it by
    mrc_peer_row row{};
    std::vector<mrc_ip> others{}; // its further addresses: IPv4, those of planes
};

// All that the maps have, each host once.
[[nodiscard]] std::vector<peer_place> peers_in_map(const host_maps &maps);
// By one of its addresses, or its name. Throws ctl_error for what is no peer's.
[[nodiscard]] peer_place peer_named(const host_maps &maps, const std::string &named);

} // namespace mrc::ctl
