// SPDX-License-Identifier: Apache-2.0
// Smoothed round-trip time and its variation, and the time-out that follows (D14).
//
// RFC 6298's gains, 1/8 and 1/4, are for one sample a round trip; SACKs bring dozens. Applied to each, they forget in a
// fraction of a round trip what the last one looked like: the variation collapses, and the next delay of a busy host is
// a time-out. RFC 7323 (appendix G) divides the gains by the samples that a round trip brings. So does this, counting
// those of the last one, but for a variation that grows: it is believed at once, as a time-out too early sends for
// nothing and one too late is waited for by nobody but the tail of a message, which is probed.
#pragma once

#include <cstdint>

#include "protocol/duration_histogram.h"
#include "protocol/types.h"

namespace mrc::protocol
{

class rtt_estimator
{
public:
    // Of a packet whose answer arrived then.
    void on_sample(duration rtt, instant arrived);

    [[nodiscard]] bool has_sample() const { return smoothed_.count() != 0; }
    [[nodiscard]] duration smoothed() const { return smoothed_; } // zero before the first sample
    [[nodiscard]] duration variation() const { return variation_; }
    [[nodiscard]] duration minimum() const { return minimum_; } // without a sample: duration::max()
    [[nodiscard]] const duration_histogram &histogram() const { return histogram_; }

    // RTO = max(T, srtt + 4 var); before the first sample max(T, initial).
    [[nodiscard]] duration timeout(duration shortest) const;

private:
    // A first packet meets cold caches and sleeping threads: 4 ms, not RFC 6298's 1 s, which suits the Internet.
    static constexpr duration initial = std::chrono::milliseconds{4};

    void count_sample(instant arrived);

    duration smoothed_{0};
    duration variation_{0};
    duration minimum_ = duration::max();
    duration_histogram histogram_;
    instant round_ends_;
    std::uint32_t in_round_ = 0;  // samples so far
    std::uint32_t per_round_ = 1; // of the last one that had any
};

} // namespace mrc::protocol
