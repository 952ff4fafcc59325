// SPDX-License-Identifier: Apache-2.0
// The base RTT of a path between software hosts, measured (protocol.md §5.6): the least median of 64 successive
// samples within the last 10 to 20 s. A median, for one lucky sample says nothing about hosts whose schedulers answer
// with jitter; the least of them, for a start under load must not be taken for the path; a window, for a path may
// become longer.
//
// And the jitter that the hosts have without any queue: by how much the 99th percentile of idle samples exceeds the
// base. Idle are those whose block's median is no more than a quarter above it. The percentile is followed as Robbins
// and Monro do: each sample moves the estimate, 99 times as far up as down.
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
        const duration base = std::min(previous_, least_);
        if (*middle <= base + base / 4)
            follow_jitter(base);
        return base;
    }
    // p99 of idle samples above the base RTT; zero before there are any.
    [[nodiscard]] duration idle_jitter() const { return jitter_; }

private:
    static constexpr int jitter_steps = 64; // of the base RTT: the finer, the slower
    static constexpr int above_p99 = 99;

    void follow_jitter(duration base)
    {
        const duration down = std::max(base / (jitter_steps * above_p99), duration{1});
        for (const duration sample : samples_)
            jitter_ = sample - base > jitter_ ? jitter_ + above_p99 * down : std::max(jitter_ - down, duration{0});
    }

    std::array<duration, block> samples_{};
    std::size_t count_ = 0;
    instant window_begin_;
    duration jitter_{0};
    duration least_ = duration::max();    // of the medians in this window
    duration previous_ = duration::max(); // and in the one before
};

} // namespace mrc::protocol
