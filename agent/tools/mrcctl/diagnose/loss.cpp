// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/loss.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace mrc::ctl::diagnose
{

namespace
{

constexpr tally perfect{.sent = 1, .back = 1};

double survival(const tally &way)
{
    return way.sent == 0 ? 1 : static_cast<double>(way.back) / way.sent;
}

} // namespace

double loss_behind(const tally &way, const tally &shorter)
{
    const double before = survival(shorter);
    return before <= 0 ? 0 : std::clamp(1 - survival(way) / before, 0.0, 1.0);
}

double loss_of(const tally &way)
{
    return 1 - survival(way);
}

condition condition_behind(const tally &way, const tally &shorter)
{
    const double before = survival(shorter);
    if (way.sent < least_packets || before <= 1 - dead_loss)
        return condition::unknown;
    const double loss = loss_behind(way, shorter);
    if (loss >= dead_loss)
        return condition::dead;
    const double sent = way.sent;
    const double expected = sent * (1 - before);
    // Both counts vary: that of the shorter way is an estimate, from as few packets as it had.
    const double variance = before * (1 - before) * sent * (1 + sent / std::max(1U, shorter.sent));
    const double more = way.lost() - expected;
    const bool counts = more >= least_losses && more >= deviations * std::sqrt(variance);
    return counts && loss >= least_loss ? condition::lossy : condition::clean;
}

condition condition_of(const tally &way)
{
    return condition_behind(way, perfect);
}

std::string lost_in_words(const tally &way)
{
    return way.lost() == way.sent
               ? fmt::format("all {} packets", way.sent)
               : fmt::format("{} of {} packets ({:.1f} %)", way.lost(), way.sent, 100 * loss_of(way));
}

} // namespace mrc::ctl::diagnose
