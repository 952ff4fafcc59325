// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/reverse_questions.h"

#include <utility>

namespace mrc::protocol
{

void reverse_questions::rest()
{
    for (record &plane : planes_)
        plane.waiting = plane.to_ask = false;
    due_ = never;
}

std::optional<reverse_questions::step> reverse_questions::next_step(instant now, plane_mask planes)
{
    if (now < due_)
        return std::nullopt;
    if (now >= until_) {
        rest();
        return std::nullopt;
    }
    if (now >= asked_at_ + interval()) {
        asked_at_ = now;
        // What data has shown since the last question need not be asked.
        for (record &plane : planes_)
            plane.to_ask =
                !plane.waiting && (plane.delivered <= plane.asked_at || plane.delivered < now - 2 * interval());
    }
    if (const auto overdue = next_overdue(now, planes))
        return overdue;
    instant next = asked_at_ + interval();
    for (std::uint8_t i = 0; i < max_planes; ++i) {
        record &plane = planes_[i];
        if (std::exchange(plane.to_ask, false) && planes.has(plane_index{i}))
            return step{.plane = plane_index{i}, .since = now};
        if (plane.waiting)
            next = std::min(next, plane.asked_at + patience());
    }
    due_ = next;
    return std::nullopt;
}

// Planes that answers do not take any more owe none.
std::optional<reverse_questions::step> reverse_questions::next_overdue(instant now, plane_mask planes)
{
    for (std::uint8_t i = 0; i < max_planes; ++i) {
        record &plane = planes_[i];
        plane.waiting = plane.waiting && planes.has(plane_index{i});
        if (!plane.waiting || now < plane.asked_at + patience())
            continue;
        plane.waiting = false;
        return step{.plane = plane_index{i}, .overdue = true, .slot = plane.slot, .since = plane.asked_at};
    }
    return std::nullopt;
}

void reverse_questions::on_asked(plane_index plane, std::optional<std::uint16_t> slot, instant now)
{
    if (!slot)
        return;
    record &at = planes_[plane.value];
    at.slot = *slot;
    at.asked_at = now;
    at.waiting = true;
}

} // namespace mrc::protocol
