// SPDX-License-Identifier: Apache-2.0
// Whether BPF maps can be pinned: by pinning one.
#pragma once

#include <string>

#include <sys/types.h>

#include "kernel/probes/attempt.h"

namespace mrc::kernel::probes
{

// Refuses a folder in which others than root and `user` could have put something, as mrcd does (trusted_folder.h). Else
// pins a map in it, or in the closest one above it that exists, and removes it again. Signals that end the process wait
// until then.
[[nodiscard]] attempt try_pinning(const std::string &folder, uid_t user);

} // namespace mrc::kernel::probes
