// SPDX-License-Identifier: Apache-2.0
// When BPF programs that were running are over.
#pragma once

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mrc::kernel
{

// Returns when no program runs any more that began before the call, and may have seen map rows as they were then: an
// RCU grace period, which the kernel's MEMBARRIER_CMD_GLOBAL waits for: some 10 ms. Needs no capability. False: this
// kernel does not offer it, as with nohz_full.
[[nodiscard]] inline bool wait_for_programs()
{
    return ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0;
}

} // namespace mrc::kernel
