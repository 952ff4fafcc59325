// SPDX-License-Identifier: Apache-2.0
// How likely a rate of loss is, by what was counted. Ratios are twice the logarithm of a ratio of likelihoods (Wilks):
// beyond 3.8 by chance once in twenty, beyond 10.8 once in a thousand.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace mrc::service
{

struct loss_count {
    double sent = 0;
    double lost = 0;
    [[nodiscard]] double rate() const { return sent == 0 ? 0 : lost / sent; }
};

inline constexpr double once_in_twenty = 3.84;
inline constexpr double once_in_a_thousand = 10.83;

// Logarithm of the likelihood of `seen` where each is lost with this probability.
[[nodiscard]] inline double log_likelihood(const loss_count &seen, double rate)
{
    const auto part = [](double count, double probability) { return count == 0 ? 0 : count * std::log(probability); };
    return part(seen.lost, rate) + part(seen.sent - seen.lost, 1 - rate);
}

// How much better the rate that was seen explains it than `rate` does; 0 where no more than that was seen.
[[nodiscard]] inline double ratio_beyond(const loss_count &seen, double rate)
{
    return seen.rate() <= rate ? 0 : 2 * (log_likelihood(seen, seen.rate()) - log_likelihood(seen, rate));
}

// How much better two rates explain both than one does; 0 where `seen` lost no more than `other`.
[[nodiscard]] inline double ratio_above(const loss_count &seen, const loss_count &other)
{
    if (seen.rate() <= other.rate())
        return 0;
    const double pooled = loss_count{.sent = seen.sent + other.sent, .lost = seen.lost + other.lost}.rate();
    return 2 * (log_likelihood(seen, seen.rate()) + log_likelihood(other, other.rate()) - log_likelihood(seen, pooled) -
                log_likelihood(other, pooled));
}

// Wilson's, of 99 %.
struct loss_interval {
    double low = 0;
    double high = 1;
};
[[nodiscard]] inline loss_interval interval_of(const loss_count &seen)
{
    constexpr double z = 2.576;
    if (seen.sent == 0)
        return {};
    const double spread = z * z / seen.sent;
    const double middle = (seen.rate() + spread / 2) / (1 + spread);
    const double half = z / (1 + spread) * std::sqrt((seen.rate() * (1 - seen.rate()) + spread / 4) / seen.sent);
    return {.low = std::max(0.0, middle - half), .high = std::min(1.0, middle + half)};
}

} // namespace mrc::service
