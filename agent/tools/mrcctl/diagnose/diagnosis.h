// SPDX-License-Identifier: Apache-2.0
// From what was seen to what is at fault. A pure function.
#pragma once

#include "tools/mrcctl/diagnose/finding.h"
#include "tools/mrcctl/diagnose/snapshot.h"

namespace mrc::ctl::diagnose
{

// Faults of the host first, then of the network from near to far, then what is merely busy.
[[nodiscard]] findings findings_of(const snapshot &at);
// A host's link that loses packets, one way, the other or both: more echoes may tell.
[[nodiscard]] bool lacks_direction(const findings &found);

} // namespace mrc::ctl::diagnose
