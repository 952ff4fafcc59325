// SPDX-License-Identifier: Apache-2.0
// One capture, from the lease to the counts that are told at its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/mrcctl/capture/settings.h"
#include "tools/mrcctl/maps.h"

namespace mrc::ctl
{

struct capture_options {
    std::string file; // "-": standard output
    capture_filter filter;
    std::optional<std::uint64_t> count;
    std::optional<double> seconds;
};

// Until SIGINT, SIGTERM, the count, the time, or the end of the daemon. The exit status: 1 at the last. Throws
// ctl_error and lease_taken, with the file untouched where nothing can be captured.
[[nodiscard]] int run_capture(const host_maps &maps, const capture_options &options);

} // namespace mrc::ctl
