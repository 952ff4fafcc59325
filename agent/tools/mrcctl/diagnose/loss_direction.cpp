// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/loss_direction.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace mrc::ctl::diagnose
{

namespace
{

constexpr double times_likelier = 200; // than the next

struct explanation {
    direction way = direction::unknown;
    double log_likelihood = 0;
};

// That of so many lost packets, when each gets through with this probability.
double log_likelihood(const tally &of, double survival)
{
    constexpr double least = 1e-9;
    const double survives = std::clamp(survival, least, 1 - least);
    return of.lost() * std::log(1 - survives) + of.back * std::log(survives);
}

// The survival s of what both have in common that explains the counts best, when `kept` s of the packets of `out` get
// through and s of the others': where the derivative of the log likelihood is zero, the smaller root of a quadratic.
double likeliest_survival(const tally &out, const tally &others, double kept)
{
    const double back = static_cast<double>(out.back) + others.back;
    const double a = kept * (static_cast<double>(out.sent) + others.sent);
    const double b = back * (1 + kept) + out.lost() * kept + others.lost();
    return a == 0 ? 0 : (b - std::sqrt(std::max(0.0, b * b - 4 * a * back))) / (2 * a);
}

explanation explain(direction way, const tally &out, const tally &others, double lost_on_the_way_out)
{
    const double kept = 1 - lost_on_the_way_out;
    const double survival = likeliest_survival(out, others, kept);
    return {.way = way, .log_likelihood = log_likelihood(out, kept * survival) + log_likelihood(others, survival)};
}

} // namespace

direction direction_of_loss(const tally &out, const tally &others, double loss)
{
    std::array all{explain(direction::in, out, others, 0), explain(direction::out, out, others, loss),
                   explain(direction::both, out, others, 1 - std::sqrt(1 - loss))};
    std::ranges::sort(all, std::ranges::greater{}, &explanation::log_likelihood);
    return all[0].log_likelihood - all[1].log_likelihood >= std::log(times_likelier) ? all[0].way : direction::unknown;
}

} // namespace mrc::ctl::diagnose
