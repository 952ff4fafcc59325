// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/reverse_evs.h"

#include <bit>
#include <utility>

namespace mrc::protocol
{

std::optional<plane_index> reverse_evs::next_plane(instant now, plane_mask among)
{
    if (now < due_)
        return std::nullopt;
    if (to_ask_.empty() && now >= began_ + round()) {
        end_round(now);
        if (!wants_round(now)) {
            due_ = never;
            return std::nullopt;
        }
        answers_ = 0;
        began_ = now;
        to_ask_ = among;
    }
    to_ask_ = to_ask_ & among;
    if (to_ask_.empty()) {
        due_ = began_ + round();
        return std::nullopt;
    }
    const plane_index plane{static_cast<std::uint8_t>(std::countr_zero(to_ask_.bits()))};
    to_ask_.set(plane, false);
    return plane;
}

// One path that does not answer may be dead alone, or the host's fault that was asked: a plane is silent when the next
// one does not either. Unless this is looked at so late that answers may wait here unread.
void reverse_evs::end_round(instant now)
{
    const plane_mask waited = std::exchange(waiting_, {});
    if (now >= began_ + 2 * round())
        return;
    for (std::uint8_t number = 0; number < max_planes; ++number) {
        const plane_index plane{number};
        if (!waited.has(plane))
            continue;
        record &at = planes_[number];
        if (std::exchange(at.missed, true))
            silent_.set(plane, true);
        ++at.turn;
    }
}

std::uint16_t reverse_evs::ask(plane_index plane, std::uint16_t slot, instant now)
{
    record &at = planes_[plane.value];
    at.asked = slot;
    at.asked_at = now;
    at.request_id = std::exchange(next_id_, ids_.after(next_id_));
    waiting_.set(plane, true);
    return at.request_id;
}

void reverse_evs::prove(plane_index plane, std::uint16_t slot)
{
    record &at = planes_[plane.value];
    at.proved = slot;
    at.missed = false;
    ++at.turn;
    proved_.set(plane, true);
    silent_.set(plane, false);
    waiting_.set(plane, false);
}

bool reverse_evs::on_answer(std::uint16_t request_id, instant at)
{
    if (!ids_.contains(request_id))
        return false;
    const auto asked = std::ranges::find(planes_, request_id, &record::request_id);
    if (asked == planes_.end())
        return false;
    asked->request_id = 0;
    const duration sample = std::max(at - asked->asked_at, duration{0});
    rtt_ = rtt_ == duration{0} ? sample : rtt_ + (sample - rtt_) / 8;
    prove(plane_index{static_cast<std::uint8_t>(asked - planes_.begin())}, asked->asked);
    return true;
}

} // namespace mrc::protocol
