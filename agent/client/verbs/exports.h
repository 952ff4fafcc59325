// SPDX-License-Identifier: Apache-2.0
// The verbs functions that libmrc has in front of libibverbs (exports_*.cpp). Every function of libibverbs that
// is given a device, or an object of one that we make, and would look behind the public part of it, is here; those
// that cannot be done on a virtual device fail with EOPNOTSUPP. Functions on objects that we never make (ibv_srq,
// ibv_ah) are libibverbs' alone, as are those that need no more than public parts (ibv_ack_cq_events,
// ibv_ack_async_event).
//
// Arguments are declared as in <infiniband/verbs.h>; types of releases newer than the oldest supported stay opaque.
#pragma once

#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>
#include <sys/types.h>

#include "client/verbs/objects.h"
#include "client/verbs/real_verbs.h"

struct ibv_dmah;
struct ibv_dmah_init_attr;
struct ibv_buf;
struct ibv_comp_cntr;
struct ibv_comp_cntr_init_attr;
struct ibv_comp_cntr_caps;

namespace mrc::client
{

// What calls on our objects answer that we cannot do.
template <typename Pointer>
Pointer unsupported() noexcept
{
    errno = EOPNOTSUPP;
    return nullptr;
}

inline int unsupported_code(int result) noexcept
{
    errno = EOPNOTSUPP;
    return result;
}

[[nodiscard]] inline bool ours(const ibv_context *context) noexcept
{
    return device_of(context) != nullptr;
}

// Of whatever verbs objects have a context.
template <typename Object>
    requires requires(const Object *object) { object->context; }
[[nodiscard]] bool ours(const Object *object) noexcept
{
    return object != nullptr && ours(object->context);
}

} // namespace mrc::client
