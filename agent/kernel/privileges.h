// SPDX-License-Identifier: Apache-2.0
// The calling process as another user, with few capabilities or none, and no way back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

namespace mrc::kernel
{

struct user_identity {
    std::string name;
    uid_t uid = 0;
    gid_t gid = 0;
    std::vector<gid_t> groups; // supplementary ones
};

// Bits 1 << CAP_… of <linux/capability.h>.
using capability_set = std::uint64_t;

// Becomes `who` unless it is that already, keeps of its capabilities those in `keep`, and gives up gaining any
// (no_new_privs). A thread's capabilities are its own, so only before the first other thread is started: those then
// inherit it all. Throws startup_error.
void give_up_privileges(const user_identity &who, capability_set keep);

} // namespace mrc::kernel
