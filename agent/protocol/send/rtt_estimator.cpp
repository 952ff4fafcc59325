// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/rtt_estimator.h"

#include <algorithm>

namespace mrc::protocol
{

void rtt_estimator::on_sample(duration rtt, instant arrived)
{
    rtt = std::max(rtt, duration{1});
    minimum_ = std::min(minimum_, rtt);
    histogram_.add(rtt);
    if (!has_sample()) {
        smoothed_ = rtt;
        variation_ = rtt / 2;
        round_ends_ = arrived + rtt;
        return;
    }
    count_sample(arrived);
    const duration error = rtt > smoothed_ ? rtt - smoothed_ : smoothed_ - rtt;
    const std::int64_t samples = per_round_;
    variation_ += (error - variation_) / (error > variation_ ? 4 : 4 * samples);
    smoothed_ = std::max(smoothed_ + (rtt - smoothed_) / (8 * samples), duration{1});
}

void rtt_estimator::count_sample(instant arrived)
{
    if (arrived >= round_ends_) {
        per_round_ = std::max(in_round_, 1u);
        in_round_ = 0;
        round_ends_ = arrived + smoothed_;
    }
    ++in_round_;
}

duration rtt_estimator::timeout(duration shortest) const
{
    return std::max(shortest, has_sample() ? smoothed_ + 4 * variation_ : initial);
}

} // namespace mrc::protocol
