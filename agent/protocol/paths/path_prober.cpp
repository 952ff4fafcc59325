// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/path_prober.h"

#include <algorithm>
#include <bit>

namespace mrc::protocol
{

path_prober::path_prober(const probe_config &config, unsigned planes, unsigned uplinks, id_range ids)
    : config_{config}, uplinks_{uplinks}, paths_(std::size_t{planes} * uplinks), planes_(planes), ids_{ids},
      next_id_{ids.first}
{
}

void path_prober::start(unsigned slot, instant now)
{
    record &path = paths_[slot];
    if (path.probed)
        return;
    const bool relapse = path.reinstated != instant::min() && now - path.reinstated < config_.relapse_window;
    path.interval = relapse ? std::min(path.interval * 2, config_.longest_interval) : config_.interval;
    path.probed = true;
    path.awaiting = false;
    path.streak = 0;
    path.due = now + path.interval;
    ++probed_;
    plane_record &plane = planes_[plane_of(slot).value];
    plane.due = std::max(plane.due, relapse ? now + path.interval / 2 : now);
    next_due_ = std::min({next_due_, path.due, plane.due});
}

void path_prober::stop(unsigned slot, std::optional<instant> now)
{
    record &path = paths_[slot];
    if (!path.probed)
        return;
    path.probed = false;
    path.awaiting = false;
    path.streak = 0;
    if (now)
        path.reinstated = *now;
    if (--probed_ == 0)
        next_due_ = never;
}

std::optional<std::uint16_t> path_prober::whose_turn(plane_index plane) const
{
    for (unsigned step = 0; step < uplinks_; ++step) {
        const unsigned slot = plane.value * uplinks_ + (planes_[plane.value].turn + step) % uplinks_;
        if (paths_[slot].probed)
            return static_cast<std::uint16_t>(slot);
    }
    return std::nullopt;
}

// A sentinel that has just answered.
std::optional<std::uint16_t> path_prober::next_sentinel()
{
    while (!answering_.empty()) {
        const plane_index plane{static_cast<std::uint8_t>(std::countr_zero(answering_.bits()))};
        answering_.set(plane, false);
        if (answering_.empty())
            ask_again_ = never;
        if (dark_.has(plane) && usable_.has(plane))
            if (const auto slot = whose_turn(plane))
                return slot;
    }
    return std::nullopt;
}

// Who has waited longest, path or dark plane: when more is due than may be asked, none must wait for ever.
std::optional<std::uint16_t> path_prober::find_due(instant now) const
{
    std::optional<std::uint16_t> found;
    instant earliest = instant::max();
    for (unsigned slot = 0; slot < paths_.size(); ++slot) {
        const record &path = paths_[slot];
        const plane_index plane = plane_of(slot);
        if (!path.probed || !usable_.has(plane) || path.due > now || dark_.has(plane))
            continue;
        if (path.streak != 0) // nearly reinstated: first
            return static_cast<std::uint16_t>(slot);
        if (path.due < earliest) {
            earliest = path.due;
            found = static_cast<std::uint16_t>(slot);
        }
    }
    for (unsigned plane = 0; plane < planes_.size(); ++plane) {
        const plane_index at{static_cast<std::uint8_t>(plane)};
        if (!usable_.has(at) || !dark_.has(at) || planes_[plane].due > now || planes_[plane].due >= earliest)
            continue;
        if (const auto slot = whose_turn(at)) {
            earliest = planes_[plane].due;
            found = slot;
        }
    }
    return found;
}

std::optional<path_prober::probe> path_prober::next(instant now, plane_mask usable, plane_mask dark)
{
    if (probed_ == 0 || now < next_deadline())
        return std::nullopt;
    usable_ = usable;
    dark_ = dark;
    auto slot = next_sentinel();
    if (!slot && now >= next_allowed_)
        slot = find_due(now);
    if (!slot) {
        find_next_due(now);
        return std::nullopt;
    }
    record &path = paths_[*slot];
    if (path.awaiting)
        path.streak = 0;
    path.awaiting = true;
    path.request_id = next_id_;
    next_id_ = ids_.after(next_id_);
    path.sent_at = now;
    path.due = now + path.interval;
    pending_[ids_.position_of(path.request_id) % pending_capacity] = *slot;
    plane_record &plane = planes_[plane_of(*slot).value];
    plane.due = now + path.interval / 2;
    plane.turn = *slot % uplinks_ + 1;
    next_allowed_ = std::max(now, next_allowed_) + config_.spacing;
    find_next_due(now);
    return probe{*slot, path.request_id};
}

void path_prober::find_next_due(instant now)
{
    // Masks may change without our knowledge: look again after one interval at the latest.
    next_due_ = now + config_.interval;
    for (unsigned slot = 0; slot < paths_.size(); ++slot) {
        const plane_index plane = plane_of(slot);
        if (paths_[slot].probed && usable_.has(plane))
            next_due_ = std::min(next_due_, dark_.has(plane) ? planes_[plane.value].due : paths_[slot].due);
    }
}

instant path_prober::next_deadline() const
{
    return probed_ == 0 ? never : std::min(ask_again_, std::max(next_due_, next_allowed_));
}

std::optional<path_prober::answer> path_prober::on_answer(std::uint16_t request_id, instant arrived)
{
    if (!ids_.contains(request_id))
        return std::nullopt;
    const std::uint16_t slot = pending_[ids_.position_of(request_id) % pending_capacity];
    record &path = paths_[slot];
    if (!path.probed || !path.awaiting || path.request_id != request_id)
        return std::nullopt;
    path.awaiting = false;
    if (arrived - path.sent_at > config_.slowest_answer) {
        path.streak = 0;
        return answer{slot, false, path.sent_at};
    }
    const bool reinstate = on_success(slot);
    if (!reinstate)
        keep_turn(slot, arrived);
    return answer{slot, reinstate, path.sent_at};
}

void path_prober::keep_turn(unsigned slot, instant answered)
{
    const record &path = paths_[slot];
    const plane_index at = plane_of(slot);
    plane_record &plane = planes_[at.value];
    plane.turn = slot % uplinks_;
    plane.due = path.due;
    if (path.interval > config_.interval) // a relapse
        return;
    answering_.set(at, true);
    ask_again_ = std::min(ask_again_, answered);
}

bool path_prober::on_success(unsigned slot)
{
    record &path = paths_[slot];
    if (!path.probed)
        return false;
    path.streak = static_cast<std::uint8_t>(std::min(path.streak + 1u, 255u));
    next_due_ = std::min(next_due_, path.due);
    return path.streak >= config_.successes;
}

} // namespace mrc::protocol
