// SPDX-License-Identifier: Apache-2.0
// What this host says of itself: its daemon and its ports; and what peers say of theirs.
#pragma once

#include "tools/mrcctl/diagnose/finding.h"
#include "tools/mrcctl/diagnose/snapshot.h"

namespace mrc::ctl::diagnose
{

[[nodiscard]] findings faults_of_daemon(const snapshot &at);
// Ports that are out of use, and those that were again and again.
[[nodiscard]] findings faults_of_ports(const snapshot &at);
[[nodiscard]] findings ports_that_peers_miss(const snapshot &at);
// Full packets are lost where small ones get through.
[[nodiscard]] findings faults_of_mtu(const snapshot &at);

} // namespace mrc::ctl::diagnose
