// SPDX-License-Identifier: Apache-2.0
// `mrcctl trace` of a daemon that runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/mrcctl/maps.h"
#include "tools/mrcctl/trace/recording.h"

namespace mrc::ctl
{

struct trace_end {
    std::optional<double> seconds;
    std::optional<std::uint64_t> count; // events
};

struct trace_output {
    std::string file;  // Chrome's format, written at the end; empty: a line for each event, as it comes
    bool json = false; // these lines are a recording; also beside a file
};

// So many events a file has, unless the command line says otherwise: they are kept in memory until then.
inline constexpr std::uint64_t most_events_of_a_file = 1'000'000;

// Until SIGINT, SIGTERM, the count, the time, or the end of the daemon. The exit status: 1 at the last. Throws
// ctl_error and lease_taken.
[[nodiscard]] int run_trace(const host_maps &maps, const trace_filter &filter, const trace_end &end,
                            const trace_output &output);

} // namespace mrc::ctl
