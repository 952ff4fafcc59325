// SPDX-License-Identifier: Apache-2.0
// `mrcctl trace --merge`.
#pragma once

#include <string>

#include "tools/mrcctl/trace/run.h"

namespace mrc::ctl
{

// The exit status: 1 where a recording ends early. Throws ctl_error.
[[nodiscard]] int merge_files(const std::string &first, const std::string &second, const trace_filter &filter,
                              const trace_output &output);

} // namespace mrc::ctl
