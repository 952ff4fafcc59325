// SPDX-License-Identifier: Apache-2.0
#include "sim/selectors/reps_selector.h"

#include <algorithm>

namespace mrc::sim
{

namespace
{

bool drawable(const protocol::path_group &paths, std::uint16_t slot, protocol::plane_mask among)
{
    return among.has(paths.path(slot).plane) && paths.state(slot) != protocol::path_state::denied;
}

} // namespace

void reps_selector::cache(std::uint16_t slot)
{
    ring_[next_] = slot;
    next_ = (next_ + 1) % ring_size;
    count_ = std::min(count_ + 1, ring_size);
    fresh_ = std::min(fresh_ + 1, ring_size);
}

void reps_selector::on_feedback(std::uint16_t slot, protocol::path_feedback what)
{
    switch (what) {
    case protocol::path_feedback::clean:
        cache(slot);
        break;
    case protocol::path_feedback::congested:
    case protocol::path_feedback::trimmed:
        break;
    case protocol::path_feedback::lost:
        if (mode_ == reps_mode::recycling) {
            mode_ = reps_mode::frozen;
            turns_left_ = config_.freeze_draws;
            recall_ = 0;
        }
        break;
    }
}

std::optional<protocol::path_choice> reps_selector::draw(const protocol::path_group &paths, protocol::plane_mask usable,
                                                         const protocol::path_avoidance &avoid)
{
    const protocol::plane_mask wished{usable.bits() & ~avoid.planes.bits()};
    std::optional<std::uint16_t> slot;
    switch (mode_) {
    case reps_mode::recycling:
        slot = recycle(paths, wished);
        break;
    case reps_mode::frozen:
        slot = recall(paths, wished);
        break;
    case reps_mode::exploring:
        break;
    }
    end_turn();
    return slot ? std::optional{paths.path(*slot)} : explorer_.draw(paths, usable, avoid);
}

void reps_selector::end_turn()
{
    if (mode_ == reps_mode::recycling)
        return;
    if (turns_left_ > 1) {
        --turns_left_;
        return;
    }
    if (mode_ == reps_mode::exploring) {
        mode_ = reps_mode::recycling;
        return;
    }
    mode_ = reps_mode::exploring;
    turns_left_ = config_.explore_draws;
    count_ = 0;
    fresh_ = 0;
}

// The oldest fresh path. One that cannot be drawn now has had its chance.
std::optional<std::uint16_t> reps_selector::recycle(const protocol::path_group &paths, protocol::plane_mask among)
{
    while (fresh_ > 0) {
        const std::uint16_t slot = entry(count_ - fresh_);
        --fresh_;
        if (drawable(paths, slot, among))
            return slot;
    }
    return std::nullopt;
}

// The next cached path of the ring, used or not.
std::optional<std::uint16_t> reps_selector::recall(const protocol::path_group &paths, protocol::plane_mask among)
{
    for (unsigned step = 0; step < count_; ++step) {
        const std::uint16_t slot = entry(recall_++ % count_);
        if (drawable(paths, slot, among))
            return slot;
    }
    return std::nullopt;
}

} // namespace mrc::sim
