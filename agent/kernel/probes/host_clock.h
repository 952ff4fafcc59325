// SPDX-License-Identifier: Apache-2.0
// How fine the host's clock is and what reading it costs: by reading it.
#pragma once

#include <string>

namespace mrc::kernel::probes
{

struct clock_figures {
    double step_ns = 0;        // least difference of two readings that differ
    double cost_ns = 0;        // of one reading
    std::string source;        // clocksource of the kernel; empty where it does not tell
    std::string other_sources; // that it could use instead, separated by blanks
};
[[nodiscard]] clock_figures read_clock();

} // namespace mrc::kernel::probes
