// SPDX-License-Identifier: Apache-2.0
// How many took how long, by powers of two: the histograms of mrc/abi/maps.h (MRC_RTT_SHIFT).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "mrc/abi/maps.h"
#include "protocol/types.h"

namespace mrc::protocol
{

class duration_histogram
{
public:
    using counts = std::array<std::uint32_t, MRC_RTT_BUCKETS>; // modulo 2^32: a queue pair at rest is small

    // Less than nothing counts as nothing.
    void add(duration time)
    {
        const auto ns = static_cast<std::uint64_t>(std::max(time, duration{0}).count());
        const auto bucket = static_cast<std::size_t>(std::bit_width(ns >> MRC_RTT_SHIFT));
        ++counts_[std::min(bucket, counts_.size() - 1)];
    }
    [[nodiscard]] const counts &by_log2() const { return counts_; }

private:
    counts counts_{};
};

} // namespace mrc::protocol
