// SPDX-License-Identifier: Apache-2.0
// The last step of a set-up: whether the peers of the configuration answer, how far away they are, and what comes next.
#pragma once

#include "tools/setup/run.h"

namespace mrc::ctl
{

// Waits, at most for wish.longest, until every peer answers on every plane; what does not is examined as by mrc-doctor
// --peer, which knows of direct mode only. Those of wish.peers alone, where some are named: an SRv6 fabric's file has
// no others. Throws std::runtime_error where the configuration cannot be used, or no mrcd runs at the end.
[[nodiscard]] setup::probe_outcome probe_peers(const setup::setup_wish &wish);

} // namespace mrc::ctl
