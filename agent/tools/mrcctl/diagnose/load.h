// SPDX-License-Identifier: Apache-2.0
// What makes it slow though nothing is broken, by what queue pairs waited for and what was marked and trimmed.
#pragma once

#include "tools/mrcctl/diagnose/finding.h"
#include "tools/mrcctl/diagnose/snapshot.h"

namespace mrc::ctl::diagnose
{

// Toward a leaf of the peers: full queues on the way.
[[nodiscard]] findings congestion_toward_peers(const snapshot &at);
// Several hosts send to this one at once.
[[nodiscard]] findings incast_here(const snapshot &at);
[[nodiscard]] findings slow_receivers(const snapshot &at);
// One client has the worker, others wait for it; or all there are have it busy, which is a limit and no fault.
[[nodiscard]] findings busy_worker(const snapshot &at);

} // namespace mrc::ctl::diagnose
