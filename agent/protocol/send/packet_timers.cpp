// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/packet_timers.h"

#include <algorithm>
#include <bit>

namespace mrc::protocol
{

instant packet_timers::deadline(unsigned level, const retry_policy &policy, duration rto, instant floor) const
{
    const instant armed_at = links_[lists_[level].head].armed_at;
    const duration wait = policy.wait(level, rto);
    return (wait < floor_spacing * rto ? std::max(armed_at, floor) : armed_at) + wait;
}

instant packet_timers::next_deadline(const retry_policy &policy, duration rto, instant floor) const
{
    instant earliest = never;
    for (std::uint32_t left = levels_; left != 0; left &= left - 1)
        earliest = std::min(earliest, deadline(static_cast<unsigned>(std::countr_zero(left)), policy, rto, floor));
    return earliest;
}

std::optional<std::size_t> packet_timers::expire(const retry_policy &policy, duration rto, instant floor, instant now)
{
    for (std::uint32_t left = levels_; left != 0; left &= left - 1) {
        const auto level = static_cast<unsigned>(std::countr_zero(left));
        if (deadline(level, policy, rto, floor) > now)
            continue;
        const std::size_t index = lists_[level].head;
        disarm(index);
        return index;
    }
    return std::nullopt;
}

} // namespace mrc::protocol
