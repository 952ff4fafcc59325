// SPDX-License-Identifier: Apache-2.0
// MRC's probes to a peer, added up by plane.
#pragma once

#include <string>

#include "tools/mrc-doctor/peer/peer.h"

namespace mrc::ctl
{

// By the mrcd of this instance, on all paths, as `mrcctl probe`. What the daemon does not reach is not answered. The
// error says why no daemon could be asked.
[[nodiscard]] doctor::plane_probes probe_planes(const std::string &instance, const std::string &address);

} // namespace mrc::ctl
