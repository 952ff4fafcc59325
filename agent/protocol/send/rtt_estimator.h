// SPDX-License-Identifier: Apache-2.0
// Smoothed round-trip time and its variation (RFC 6298, gains 1/8 and 1/4), and the time-out that follows (D14).
#pragma once

#include "protocol/types.h"

namespace mrc::protocol
{

class rtt_estimator
{
public:
    void on_sample(duration rtt);

    [[nodiscard]] bool has_sample() const { return smoothed_.count() != 0; }
    [[nodiscard]] duration smoothed() const { return smoothed_; }
    [[nodiscard]] duration variation() const { return variation_; }
    [[nodiscard]] duration minimum() const { return minimum_; }

    // RTO = max(T, srtt + 4 var); before the first sample max(T, initial).
    [[nodiscard]] duration timeout(duration shortest) const;

private:
    // A first packet meets cold caches and sleeping threads: 4 ms, not RFC 6298's 1 s, which suits the Internet.
    static constexpr duration initial = std::chrono::milliseconds{4};

    duration smoothed_{0};
    duration variation_{0};
    duration minimum_ = duration::max();
};

} // namespace mrc::protocol
