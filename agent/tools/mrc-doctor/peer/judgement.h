// SPDX-License-Identifier: Apache-2.0
// From what was seen of a peer to what is wrong, and what helps.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/mrc-doctor/peer/evidence.h"
#include "tools/mrc-doctor/report.h"

namespace mrc::doctor
{

// One finding for each plane and cause, a plane without one works. `peer`: as the user calls it.
[[nodiscard]] std::vector<finding> judge_peer(const std::string &peer, std::span<const peer_plane_evidence> planes);

} // namespace mrc::doctor
