// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/rtt_estimator.h"

#include <algorithm>

namespace mrc::protocol
{

void rtt_estimator::on_sample(duration rtt)
{
    rtt = std::max(rtt, duration{1});
    minimum_ = std::min(minimum_, rtt);
    if (!has_sample()) {
        smoothed_ = rtt;
        variation_ = rtt / 2;
        return;
    }
    const duration error = rtt > smoothed_ ? rtt - smoothed_ : smoothed_ - rtt;
    variation_ += (error - variation_) / 4;
    smoothed_ = std::max(smoothed_ + (rtt - smoothed_) / 8, duration{1});
}

duration rtt_estimator::timeout(duration shortest) const
{
    return std::max(shortest, has_sample() ? smoothed_ + 4 * variation_ : initial);
}

} // namespace mrc::protocol
