// SPDX-License-Identifier: Apache-2.0
// What the hosts of the fabric name together (map `fabric_faults`) is put together with what this one finds by its own
// packets: what it cannot tell apart they often can, and they see links that its packets do not cross.
//
// found here           named by all                     then it is
// host_link            the leaf                         the leaf
// spine_or_link        the spine, or the leaf's link    that
// nothing              of a leaf, a spine, a link       that, by their reports
#pragma once

#include "tools/mrcctl/diagnose/finding.h"
#include "tools/mrcctl/diagnose/snapshot.h"

namespace mrc::ctl::diagnose
{

[[nodiscard]] findings with_named_faults(findings found, const snapshot &at);

} // namespace mrc::ctl::diagnose
