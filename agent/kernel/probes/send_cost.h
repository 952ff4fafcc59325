// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace mrc::kernel::probes
{

// Of sending small frames to a device, in nanoseconds.
struct send_cost {
    std::int64_t call_ns = 0;     // of a call without any frame
    std::int64_t frame_ns = 0;    // and of each
    std::int64_t kilobyte_ns = 0; // and of each 1024 bytes that they are longer than the shortest
};

} // namespace mrc::kernel::probes
