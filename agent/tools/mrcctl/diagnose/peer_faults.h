// SPDX-License-Identifier: Apache-2.0
// The last link on the way to a peer, or the peer itself, by EV probes on ways that are good up to its leaf.
#pragma once

#include "tools/mrcctl/diagnose/finding.h"
#include "tools/mrcctl/diagnose/snapshot.h"

namespace mrc::ctl::diagnose
{

// Of peers in an SRv6 fabric whose leaves are reached.
[[nodiscard]] findings faults_of_peers(const snapshot &at);

} // namespace mrc::ctl::diagnose
