// SPDX-License-Identifier: Apache-2.0
// Arrays that ibv_get_device_list has returned: our devices first, then the real ones.
#pragma once

#include <infiniband/verbs.h>

namespace mrc::client
{

// How the host's libibverbs lists its devices; nullptr when it is absent.
struct real_lister {
    ibv_device **(*get)(int *) = nullptr;
    void (*free)(ibv_device **) = nullptr;
};

// With no device of ours just what the real library says, errors included. With none at all and a daemon that this user
// may not reach: nullptr and EACCES, for an empty list would not tell why.
[[nodiscard]] ibv_device **get_device_list(int *count, const real_lister &real) noexcept;

// Ours, with the real array in it; or a foreign one.
void free_device_list(ibv_device **list, const real_lister &real) noexcept;

} // namespace mrc::client
