// SPDX-License-Identifier: Apache-2.0
// Whether BPF maps can be pinned: by pinning one.
#pragma once

#include <string>

#include "kernel/probes/attempt.h"

namespace mrc::kernel::probes
{

// Pins a map in the folder, or in the closest one above it that exists, and removes it again. Signals that end the
// process wait until then.
[[nodiscard]] attempt try_pinning(const std::string &folder);

} // namespace mrc::kernel::probes
