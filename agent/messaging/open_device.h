// SPDX-License-Identifier: Apache-2.0
// The verbs device that stands for this host's mrcd.
#pragma once

#include <string>

#include "messaging/gid_text.h"
#include "messaging/handles.h"

namespace mrc::messaging
{

struct opened_device {
    owned_verbs verbs;
    owned_pd pd;
    owned_context context;
    gid_bytes gid{};  // the host's primary address
    std::string text; // "mrc0 (fd6d:7263::1:1)"
};

// The only one there is, or the one that MRC_INSTANCE names. Throws messaging_failure, which says why there is none.
[[nodiscard]] opened_device open_device();

} // namespace mrc::messaging
