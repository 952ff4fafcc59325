// SPDX-License-Identifier: Apache-2.0
// What becomes of a run that ended early.
#pragma once

#include "tools/mrc-perf/channel.h"
#include "tools/mrc-perf/endpoint.h"
#include "tools/mrc-perf/error.h"
#include "tools/mrc-perf/report.h"

namespace mrc::perf
{

// Puts into the report why the run ended, and tells the far end, so that it need not find out by silence. When mrcd of
// this host is gone, that is why, whatever was noticed first.
void note_failure(report_context &context, channel &far_end, endpoint &local, const perf_error &noticed);

} // namespace mrc::perf
