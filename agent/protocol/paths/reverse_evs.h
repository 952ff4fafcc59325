// SPDX-License-Identifier: Apache-2.0
// Reverse EVs (protocol.md §4.4): of each plane an EV that is known to carry answers. Nobody acknowledges answers, so
// while queue pairs send them an EV of each plane is asked per round, each time another one, and the one that answered
// last is the plane's reverse EV.
//
// the plane                                its answers
// has answered its last question, or the   go back the way by which their cause came, whose links live in that
// one before                               direction; by the reverse EV where that way is known to be dead
// did not answer the last two              go by another plane's reverse EV, until it answers
//
// What is learnt here chooses the way of answers and nothing else: no path changes its state by it, no plane is
// suspected, nothing is evidence for or against data. So a plane that is left falsely costs nothing, and it may be left
// as soon as it is late.
//
// Questions are bounded in two ways, however many queue pairs there are. A round is `patience_rtts` round trips, and
// `least_round` at the least: 500 questions per second and plane of a destination. And each stands for
// `answers_per_question` answers, so they are a small part of what is sent anyway; but where answers are rare the first
// after a second asks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "protocol/request_ids.h"
#include "protocol/types.h"

namespace mrc::protocol
{

struct reverse_config {
    duration least_round = std::chrono::milliseconds{2}; // hosts in software answer in 30 to 300 us
    int patience_rtts = 4;
    unsigned answers_per_question = 64; // a message by itself is answered twice: three questions in 100 of these
    duration longest_pause = std::chrono::seconds{1};
};

class reverse_evs
{
public:
    reverse_evs(const reverse_config &config, unsigned planes, id_range ids)
        : config_{config}, answers_per_round_{config.answers_per_question * planes}, ids_{ids}, next_id_{ids.first},
          answers_{answers_per_round_ - 1} // the first one asks
    {
    }

    // A queue pair has answered.
    void on_answer_sent(instant now)
    {
        ++answers_;
        if (due_ == never && wants_round(now))
            due_ = now;
    }

    // The next plane to be asked, of those that answers may take; it is followed by ask() or, when another packet has
    // shown that a path of it delivers, by prove(), or by neither.
    [[nodiscard]] std::optional<plane_index> next_plane(instant now, plane_mask among);
    // Which of its paths, counted on for ever: another one each time.
    [[nodiscard]] unsigned turn(plane_index plane) const { return planes_[plane.value].turn; }
    [[nodiscard]] std::uint16_t ask(plane_index plane, std::uint16_t slot, instant now); // returns the request id
    void prove(plane_index plane, std::uint16_t slot);
    // False for an answer that nobody waits for. A late one is an answer.
    bool on_answer(std::uint16_t request_id, instant at);

    // Planes that did not answer their last two questions.
    [[nodiscard]] plane_mask silent() const { return silent_; }
    // Nothing before the plane's first answer.
    [[nodiscard]] std::optional<std::uint16_t> slot_of(plane_index plane) const
    {
        return proved_.has(plane) ? std::optional{planes_[plane.value].proved} : std::nullopt;
    }
    [[nodiscard]] instant next_deadline() const { return due_; }
    [[nodiscard]] duration round() const { return std::max(config_.patience_rtts * rtt_, config_.least_round); }

private:
    struct record {
        std::uint16_t proved = 0; // slot
        std::uint16_t asked = 0;  // slot
        std::uint16_t request_id = 0;
        instant asked_at;
        unsigned turn = 0;
        bool missed = false; // the last question that is over
    };

    [[nodiscard]] bool wants_round(instant now) const
    {
        return answers_ >= answers_per_round_ || (answers_ != 0 && now - began_ >= config_.longest_pause);
    }
    void end_round(instant now);

    reverse_config config_;
    unsigned answers_per_round_;
    id_range ids_;
    std::uint16_t next_id_;
    unsigned answers_; // sent since the last round began
    std::array<record, max_planes> planes_{};
    plane_mask to_ask_;
    plane_mask waiting_;
    plane_mask silent_;
    plane_mask proved_;
    instant began_;       // the last round
    instant due_ = never; // the next step: of a round, or its end
    duration rtt_{0};     // of questions, smoothed
};

} // namespace mrc::protocol
