// SPDX-License-Identifier: Apache-2.0
// Asks on the links of planes, beside mrcd: who has the addresses there, which packets the peer answers, what it makes
// of UDP port 4791.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "tools/mrc-doctor/peer/evidence.h"

namespace mrc::doctor
{

inline constexpr std::chrono::milliseconds usual_patience{1500}; // mrcd calls for a router once a second

// In the order of the ways; without probes. Sends a few packets of ICMPv6 and UDP on each. Throws std::system_error.
[[nodiscard]] std::vector<peer_plane_evidence> ask_links(std::span<const plane_way> ways,
                                                         std::chrono::milliseconds patience = usual_patience);

} // namespace mrc::doctor
