// SPDX-License-Identifier: Apache-2.0
// EV state changes on their way to one subscriber: a ring that never overruns. What finds it full is dropped and
// counted, and the next event that gets in says how many are missing before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>

#include "session/values.h"

namespace mrc::session
{

// As mrc_ctl_ev_event of API 1.0.1.
struct ev_event {
    std::uint64_t profile = 0;
    ev_value ev;
    std::uint8_t reserved[3] = {};
    std::uint32_t drop_count = 0; // events lost between the previous one and this
    std::uint32_t state = 0;      // ev_state
};
static_assert(sizeof(ev_event) == 56);
static_assert(offsetof(ev_event, drop_count) == 44 && offsetof(ev_event, state) == 48);

class ev_event_queue
{
public:
    explicit ev_event_queue(std::size_t capacity) : capacity_{capacity} {}

    // False: dropped.
    bool push(ev_event event)
    {
        if (events_.size() >= capacity_) {
            dropped_ += dropped_ != std::numeric_limits<std::uint32_t>::max() ? 1 : 0;
            return false;
        }
        event.drop_count = dropped_;
        dropped_ = 0;
        events_.push_back(event);
        return true;
    }
    [[nodiscard]] std::optional<ev_event> pop()
    {
        if (events_.empty())
            return std::nullopt;
        const ev_event event = events_.front();
        events_.pop_front();
        return event;
    }
    [[nodiscard]] std::size_t size() const { return events_.size(); }
    [[nodiscard]] std::size_t capacity() const { return capacity_; }

private:
    std::size_t capacity_;
    std::uint32_t dropped_ = 0; // since the last event that got in
    std::deque<ev_event> events_;
};

} // namespace mrc::session
