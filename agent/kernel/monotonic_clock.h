// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <ctime>

#include "protocol/types.h"

namespace mrc::kernel
{

// CLOCK_MONOTONIC, the clock of bpf_ktime_get_ns.
[[nodiscard]] inline protocol::instant monotonic_now()
{
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return protocol::instant{std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec}};
}

// What a time of monotonic_now() lacks to the wall clock, as both are now. They are read one after the other, so of a
// few looks the shortest counts.
[[nodiscard]] inline std::chrono::nanoseconds real_time_offset()
{
    constexpr unsigned looks = 5;
    auto shortest = std::chrono::nanoseconds::max();
    std::chrono::nanoseconds offset{};
    for (unsigned look = 0; look < looks; ++look) {
        const protocol::instant before = monotonic_now();
        const std::chrono::nanoseconds real{std::chrono::system_clock::now().time_since_epoch()};
        const std::chrono::nanoseconds took{monotonic_now() - before};
        if (took >= shortest)
            continue;
        shortest = took;
        offset = real - before.time_since_epoch() - took / 2;
    }
    return offset;
}

} // namespace mrc::kernel
