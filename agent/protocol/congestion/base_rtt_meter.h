// SPDX-License-Identifier: Apache-2.0
// The base RTT of a path between software hosts, measured (protocol.md §5.6): the least median of 64 successive
// samples within the last 10 to 20 s. A median, for one lucky sample says nothing about hosts whose schedulers answer
// with jitter; the least of them, for a start under load must not be taken for the path; a window, for a path may
// become longer.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "protocol/types.h"

namespace mrc::protocol
{

class base_rtt_meter
{
public:
    static constexpr std::size_t block = 64; // samples of one median
    static constexpr duration window = std::chrono::seconds{10};

    // The base RTT, with the sample that completes a median.
    [[nodiscard]] std::optional<duration> on_sample(duration rtt, instant now)
    {
        samples_[count_++] = rtt;
        if (count_ < block)
            return std::nullopt;
        count_ = 0;
        const auto middle = samples_.begin() + block / 2;
        std::ranges::nth_element(samples_, middle);
        if (now - window_begin_ >= window) {
            // A pause longer than a window leaves nothing of what was before it.
            previous_ = now - window_begin_ < 2 * window ? least_ : duration::max();
            least_ = duration::max();
            window_begin_ = now;
        }
        least_ = std::min(least_, *middle);
        return std::min(previous_, least_);
    }

private:
    std::array<duration, block> samples_{};
    std::size_t count_ = 0;
    instant window_begin_;
    duration least_ = duration::max();    // of the medians in this window
    duration previous_ = duration::max(); // and in the one before
};

} // namespace mrc::protocol
