// SPDX-License-Identifier: Apache-2.0
// Which peers are looked at.
#pragma once

#include <string>
#include <vector>

#include "tools/mrcctl/peers.h"

namespace mrc::ctl::diagnose
{

inline constexpr std::size_t most_peers = 8; // unless one is named

struct chosen_peers {
    std::vector<peer_place> peers{}; // each host once
    std::size_t left_out = 0;        // hosts beyond most_peers
};

// The one named; else those of queue pairs; else all that the maps have. Throws ctl_error for an address that is no
// peer's.
[[nodiscard]] chosen_peers choose_peers(const host_maps &maps, const std::string &named);

} // namespace mrc::ctl::diagnose
