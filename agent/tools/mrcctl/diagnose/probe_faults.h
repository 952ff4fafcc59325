// SPDX-License-Identifier: Apache-2.0
// Where no packet turns back on the way, that is in direct mode and in fabrics whose switches let none back: a table of
// planes and peers, by EV probes alone. It says what it cannot tell apart.
#pragma once

#include "tools/mrcctl/diagnose/finding.h"
#include "tools/mrcctl/diagnose/snapshot.h"

namespace mrc::ctl::diagnose
{

[[nodiscard]] findings faults_by_probes(const snapshot &at);

} // namespace mrc::ctl::diagnose
