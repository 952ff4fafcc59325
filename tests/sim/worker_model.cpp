// SPDX-License-Identifier: Apache-2.0
#include "worker_model.h"

#include <cmath>

namespace mrc::sim
{

using namespace std::chrono_literals;
using protocol::duration;

namespace
{

struct quantile {
    double share;
    duration length;
};
constexpr std::array quantiles{quantile{0, 20us},      quantile{0.1, 34us},      quantile{0.25, 49us},
                               quantile{0.5, 4055us},  quantile{0.75, 7861us},   quantile{0.9, 8075us},
                               quantile{0.95, 8088us}, quantile{0.99, 12'076us}, quantile{0.999, 20'099us},
                               quantile{1.0, 40'077us}};
constexpr duration mean_interval = 2050us; // 38 % of a second, between 184 gaps

double uniform(protocol::random_source &random)
{
    return static_cast<double>(random.next() >> 11) * 0x1p-53;
}

} // namespace

duration stall_source::next_length()
{
    const double share = uniform(random_);
    std::size_t above = 1;
    while (quantiles[above].share < share)
        ++above;
    const quantile &low = quantiles[above - 1];
    const quantile &high = quantiles[above];
    const double within = (share - low.share) / (high.share - low.share);
    return low.length +
           duration{static_cast<std::int64_t>(within * static_cast<double>((high.length - low.length).count()))};
}

duration stall_source::next_interval()
{
    return duration{
        static_cast<std::int64_t>(-std::log(1 - uniform(random_)) * static_cast<double>(mean_interval.count()))};
}

} // namespace mrc::sim
