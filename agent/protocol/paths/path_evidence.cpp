// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/path_evidence.h"

#include <bit>
#include <utility>

namespace mrc::protocol
{

void path_evidence::on_loss(unsigned slot)
{
    paths_[slot].history = paths_[slot].history << 1 | 1u;
}

bool path_evidence::delivered_elsewhere(unsigned slot, instant since) const
{
    const auto &[first, second] = leaders_;
    const instant latest = first.slot != slot ? first.delivered : second.delivered;
    return latest != long_ago && latest >= since;
}

unsigned path_evidence::recent_losses(unsigned slot, unsigned span) const
{
    const std::uint32_t mask = span >= 32 ? ~0u : (1u << span) - 1;
    return static_cast<unsigned>(std::popcount(paths_[slot].history & mask));
}

} // namespace mrc::protocol
