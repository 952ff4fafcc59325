// SPDX-License-Identifier: Apache-2.0
#include "protocol/packet_timers.h"

#include <algorithm>
#include <bit>

namespace mrc::protocol
{

void packet_timers::arm(std::size_t index, unsigned level, instant now)
{
    disarm(index);
    list &members = lists_[level];
    const auto self = static_cast<std::uint16_t>(index);
    links_[index] = {now, members.tail, none, static_cast<std::uint8_t>(level), true};
    if (members.tail == none)
        members.head = self;
    else
        links_[members.tail].next = self;
    members.tail = self;
    levels_ |= 1u << level;
}

void packet_timers::disarm(std::size_t index)
{
    link &self = links_[index];
    if (!self.armed)
        return;
    list &members = lists_[self.level];
    (self.previous == none ? members.head : links_[self.previous].next) = self.next;
    (self.next == none ? members.tail : links_[self.next].previous) = self.previous;
    self.armed = false;
    if (members.head == none)
        levels_ &= ~(1u << self.level);
}

instant packet_timers::deadline(unsigned level, duration rto, instant floor) const
{
    return std::max(links_[lists_[level].head].armed_at, floor) + retry_policy::wait(level, rto);
}

instant packet_timers::next_deadline(duration rto, instant floor) const
{
    instant earliest = never;
    for (std::uint32_t left = levels_; left != 0; left &= left - 1)
        earliest = std::min(earliest, deadline(static_cast<unsigned>(std::countr_zero(left)), rto, floor));
    return earliest;
}

std::optional<std::size_t> packet_timers::expire(duration rto, instant floor, instant now)
{
    for (std::uint32_t left = levels_; left != 0; left &= left - 1) {
        const auto level = static_cast<unsigned>(std::countr_zero(left));
        if (deadline(level, rto, floor) > now)
            continue;
        const std::size_t index = lists_[level].head;
        disarm(index);
        return index;
    }
    return std::nullopt;
}

} // namespace mrc::protocol
