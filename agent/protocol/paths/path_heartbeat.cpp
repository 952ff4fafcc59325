// SPDX-License-Identifier: Apache-2.0
#include "protocol/paths/path_heartbeat.h"

#include <bit>

namespace mrc::protocol
{

path_heartbeat::path_heartbeat(const heartbeat_config &config, unsigned planes, unsigned uplinks, id_range ids)
    : config_{config}, planes_{planes}, uplinks_{uplinks}, paths_(std::size_t{planes} * uplinks),
      asked_(std::bit_ceil(paths_.size())), ids_{ids}, next_id_{ids.first}
{
}

void path_heartbeat::move(record &path, phase to)
{
    awaiting_ += (to == phase::awaiting ? 1u : 0u) - (path.at == phase::awaiting ? 1u : 0u);
    repeating_ += (to == phase::repeating ? 1u : 0u) - (path.at == phase::repeating ? 1u : 0u);
    path.at = to;
}

void path_heartbeat::rest()
{
    for (record &path : paths_) {
        move(path, phase::resting);
        path.missed = 0;
    }
    left_ = 0;
    first_overdue_ = never;
}

std::optional<std::uint16_t> path_heartbeat::next_repetition()
{
    for (unsigned slot = 0; slot < paths_.size(); ++slot) {
        if (paths_[slot].at != phase::repeating)
            continue;
        move(paths_[slot], phase::resting);
        return static_cast<std::uint16_t>(slot);
    }
    return std::nullopt;
}

std::optional<std::uint16_t> path_heartbeat::next_slot(instant now)
{
    if (now >= until_ && now >= idle_until_) {
        if (awaiting_ + repeating_ + left_ != 0)
            rest();
        // A round that nobody began is due no more.
        last_round_ = std::max({last_round_, until_ - config_.period, idle_until_ - config_.idle_period});
        return std::nullopt;
    }
    if (repeating_ != 0)
        return next_repetition();
    if (left_ == 0 && now >= next_round()) {
        last_round_ = now;
        left_ = std::min(config_.per_period, static_cast<unsigned>(paths_.size()));
    }
    while (left_ != 0) {
        --left_;
        // Planes in turn: a dead plane of a large group is noticed long before its last path is asked.
        const unsigned slot = cursor_ % planes_ * uplinks_ + cursor_ / planes_;
        cursor_ = (cursor_ + 1) % static_cast<unsigned>(paths_.size());
        if (paths_[slot].at == phase::resting)
            return static_cast<std::uint16_t>(slot);
    }
    return std::nullopt;
}

std::uint16_t path_heartbeat::ask(std::uint16_t slot, instant now)
{
    record &path = paths_[slot];
    move(path, phase::awaiting);
    path.request_id = next_id_;
    path.sent_at = now;
    if (path.missed == 0)
        path.silent_since = now;
    asked_[ids_.position_of(next_id_) % asked_.size()] = slot;
    next_id_ = ids_.after(next_id_);
    first_overdue_ = std::min(first_overdue_, now + config_.patience);
    return path.request_id;
}

std::optional<path_heartbeat::silence> path_heartbeat::next_silence(instant now)
{
    if (awaiting_ == 0 || now < first_overdue_)
        return std::nullopt;
    first_overdue_ = never;
    for (unsigned slot = 0; slot < paths_.size(); ++slot) {
        record &path = paths_[slot];
        if (path.at != phase::awaiting)
            continue;
        const instant overdue = path.sent_at + config_.patience;
        if (now < overdue) {
            first_overdue_ = std::min(first_overdue_, overdue);
            continue;
        }
        ++path.missed;
        move(path, path.missed < config_.misses ? phase::repeating : phase::resting);
        if (path.at == phase::repeating)
            continue;
        path.missed = 0;
        first_overdue_ = now; // there may be more
        return silence{static_cast<std::uint16_t>(slot), path.silent_since};
    }
    return std::nullopt;
}

// A late answer is an answer: it proves that the path lives.
std::optional<path_heartbeat::answer> path_heartbeat::on_answer(std::uint16_t request_id)
{
    if (!ids_.contains(request_id))
        return std::nullopt;
    const std::uint16_t slot = asked_[ids_.position_of(request_id) % asked_.size()];
    record &path = paths_[slot];
    if (path.request_id != request_id)
        return std::nullopt;
    move(path, phase::resting);
    path.missed = 0;
    return answer{slot, path.sent_at};
}

// When the next round is due; `never` when nobody uses the paths any more then.
instant path_heartbeat::next_round() const
{
    const instant soon = last_round_ + config_.period;
    const instant later = last_round_ + config_.idle_period;
    return soon < until_ ? soon : later < idle_until_ ? later : never;
}

instant path_heartbeat::next_deadline() const
{
    if (repeating_ + left_ != 0)
        return instant::min();
    return awaiting_ == 0 ? next_round() : std::min(next_round(), first_overdue_);
}

} // namespace mrc::protocol
