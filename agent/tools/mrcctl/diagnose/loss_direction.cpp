// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/loss_direction.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace mrc::ctl::diagnose
{

namespace
{

constexpr double times_likelier = 20; // than the next

struct explanation {
    direction way = direction::unknown;
    double log_likelihood = 0;
};

// That of so many lost packets, when each is lost with this probability.
double log_likelihood(const tally &of, double share)
{
    constexpr double least = 1e-9;
    const double lost = std::clamp(share, least, 1 - least);
    return of.lost() * std::log(lost) + of.back * std::log(1 - lost);
}

} // namespace

direction direction_of_loss(const tally &out, const tally &others, double loss)
{
    // Laplace's rule: that none was lost of so few does not mean that none ever is.
    const double gets_through = (others.back + 1.0) / (others.sent + 2.0);
    const auto explain = [&](direction way, double lost_on_the_way_out) {
        return explanation{way, log_likelihood(out, 1 - gets_through * (1 - lost_on_the_way_out))};
    };
    std::array all{explain(direction::in, 0), explain(direction::out, loss),
                   explain(direction::both, 1 - std::sqrt(1 - loss))};
    std::ranges::sort(all, std::ranges::greater{}, &explanation::log_likelihood);
    return all[0].log_likelihood - all[1].log_likelihood >= std::log(times_likelier) ? all[0].way : direction::unknown;
}

} // namespace mrc::ctl::diagnose
