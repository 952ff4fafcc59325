// SPDX-License-Identifier: Apache-2.0
// What the maps say as metrics; docs/monitoring.md says how to use them. Labels are planes, devices, verdicts, reasons
// and states, never a queue pair or an EV: some hundred series, however busy the host is.
#pragma once

#include <boost/json/array.hpp>

#include "tools/mrcctl/maps.h"

namespace mrc::ctl
{

// Families of samples, as exposition.h has them, in base units. Counters are what only grows while the daemon runs.
// What belongs to paths and queue pairs goes away with them, so that their sums are gauges. Throws ctl_error.
[[nodiscard]] boost::json::array metrics_of(const host_maps &maps);

} // namespace mrc::ctl
