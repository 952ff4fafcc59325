// SPDX-License-Identifier: Apache-2.0
// What AF_XDP sockets on a queue of a device can do: by binding one.
#pragma once

#include <cstdint>

#include "kernel/probes/attempt.h"

namespace mrc::kernel::probes
{

enum class af_xdp_copies : std::uint8_t { any, copy, zero_copy };

struct af_xdp_wish {
    int ifindex = 0;
    std::uint32_t queue = 0;
    af_xdp_copies copies = af_xdp_copies::any;
    bool multi_buffer = false; // packets of several buffers
};

// Binds a socket with a few frames of memory and closes it. A queue whose socket was just closed can answer EBUSY for
// up to a second: waits for it, at most `busy_limit_ms`. The detail of success tells "zero copy" or "copy".
[[nodiscard]] attempt try_af_xdp(const af_xdp_wish &wish, int busy_limit_ms = 2000);

struct af_xdp_support {
    attempt copy;
    attempt zero_copy;
    attempt multi_buffer;
};
// Each in turn. The port's queue must not be in use.
[[nodiscard]] af_xdp_support try_af_xdp_queue(int ifindex, std::uint32_t queue);

} // namespace mrc::kernel::probes
