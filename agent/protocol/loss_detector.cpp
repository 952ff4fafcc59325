// SPDX-License-Identifier: Apache-2.0
#include "protocol/loss_detector.h"

#include <algorithm>
#include <utility>

namespace mrc::protocol
{

void loss_detector::proves(unsigned slot, traffic_class in, std::uint64_t order)
{
    proof &known = paths_[slot][std::to_underlying(in)];
    known.latest = known.epoch == epoch_ ? std::max(known.latest, order) : order;
    known.epoch = epoch_;
}

void loss_detector::below_edge(unsigned slot, traffic_class in, std::uint64_t order)
{
    proof &known = paths_[slot][std::to_underlying(in)];
    known.latest_below_edge = std::max(known.latest_below_edge, order);
}

bool loss_detector::lost(unsigned slot, traffic_class in, std::uint64_t order, bool sack_at_edge) const
{
    const proof &known = paths_[slot][std::to_underlying(in)];
    return (known.epoch == epoch_ && known.latest > order) || (sack_at_edge && known.latest_below_edge > order);
}

} // namespace mrc::protocol
