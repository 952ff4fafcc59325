// SPDX-License-Identifier: Apache-2.0
// Reverse EVs (protocol.md §4.4): while queue pairs answer, and nobody acknowledges what they answer, an EV of each
// plane is asked per round trip, each time another one of the plane. So a plane that has died in the direction of
// answers only is noticed in milliseconds; heartbeats, which go round all paths, take the paths that died alone
// (path_heartbeat.h).
//
// the plane's question                          the plane
// answered, or other packets of it delivered    is asked again after an interval
// not answered for `patience`                   is told of once: path_group.h suspects it, if others deliver
//
// One question of a plane waits at a time. The interval is a round trip, but not less than `least_interval`: software
// hosts answer in 30 to 300 us, and asking takes time of theirs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "protocol/types.h"

namespace mrc::protocol
{

class reverse_questions
{
public:
    static constexpr duration least_interval = std::chrono::milliseconds{2};
    static constexpr int patience_rtts = 4;

    // Answers are sent, until then at least.
    void watch(instant until)
    {
        if (due_ == never)
            due_ = asked_at_ + interval();
        until_ = std::max(until_, until);
    }

    // What is due: a question of the plane, to be told by on_asked(); or nothing that was sent on it from `since` on
    // has got through.
    struct step {
        plane_index plane;
        bool overdue = false;
        std::uint16_t slot = 0; // that was asked, if overdue
        instant since;
    };
    // `planes`: those that answers may take.
    [[nodiscard]] std::optional<step> next_step(instant now, plane_mask planes);
    // Nothing is asked where `slot` is empty: all paths of the plane wait for answers.
    void on_asked(plane_index plane, std::optional<std::uint16_t> slot, instant now);
    // Something that was sent on the plane then got through.
    void on_delivered(plane_index plane, instant sent_at)
    {
        record &at = planes_[plane.value];
        at.waiting = at.waiting && sent_at < at.asked_at;
        at.delivered = std::max(at.delivered, sent_at);
    }
    void on_round_trip(duration took) { rtt_ = rtt_ == duration{0} ? took : rtt_ + (took - rtt_) / 8; }
    // Which of the plane's active paths is next.
    [[nodiscard]] unsigned turn(plane_index plane) { return planes_[plane.value].turn++; }

    [[nodiscard]] instant next_deadline() const { return due_; }

private:
    struct record {
        instant asked_at;
        instant delivered;
        unsigned turn = 0;
        std::uint16_t slot = 0;
        bool waiting = false;
        bool to_ask = false; // in this round
    };

    [[nodiscard]] duration interval() const { return std::max(rtt_, least_interval); }
    [[nodiscard]] duration patience() const { return std::max(patience_rtts * rtt_, least_interval); }
    void rest();
    [[nodiscard]] std::optional<step> next_overdue(instant now, plane_mask planes);

    std::array<record, max_planes> planes_{};
    instant until_;
    instant asked_at_; // when the latest round began
    instant due_ = never;
    duration rtt_{0};
};

} // namespace mrc::protocol
