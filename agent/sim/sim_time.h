// SPDX-License-Identifier: Apache-2.0
// Simulated time in picoseconds: a byte at 800 Gb/s takes 10 ps, so serialisation times are exact integers.
#pragma once

#include <cstdint>

#include "protocol/types.h"

namespace mrc::sim
{

using picoseconds = std::int64_t; // 106 days

inline constexpr picoseconds nanosecond = 1'000;
inline constexpr picoseconds microsecond = 1'000'000;
inline constexpr picoseconds millisecond = 1'000'000'000;
inline constexpr picoseconds no_time = -1;

// The transport's clock starts a second before the run, so that times before it exist.
inline constexpr std::int64_t epoch_ns = 1'000'000'000;

[[nodiscard]] constexpr protocol::instant to_instant(picoseconds at)
{
    return protocol::instant{protocol::duration{epoch_ns + at / nanosecond}};
}

[[nodiscard]] constexpr picoseconds from_instant(protocol::instant at)
{
    return (at.time_since_epoch().count() - epoch_ns) * nanosecond;
}

[[nodiscard]] constexpr double in_microseconds(picoseconds time)
{
    return static_cast<double>(time) / static_cast<double>(microsecond);
}

} // namespace mrc::sim
