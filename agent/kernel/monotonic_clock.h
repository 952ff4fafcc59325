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

} // namespace mrc::kernel
