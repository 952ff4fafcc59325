// SPDX-License-Identifier: Apache-2.0
// How many frames were handed to a device and not sent yet, by two counters that only grow: what mrcd's row of the port
// counts as handed to it, and what the device counts as sent. No clock and no device inside.
//
// The kernel keeps the pages of live frames until they are sent, and a second longer (net/core/page_pool.c), and tells
// nobody how many: page pools of BPF_PROG_TEST_RUN belong to no device, so netlink does not list them
// (net/core/page_pool_user.c). What else the device sends makes the bound loose, by as much as it sends meanwhile.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "protocol/types.h"

namespace mrc::datapath
{

class frames_in_flight
{
public:
    static constexpr protocol::duration between_looks = std::chrono::microseconds{100};
    static constexpr protocol::duration patience = std::chrono::seconds{1};

    // `bound`: frames that the device may have.
    explicit frames_in_flight(std::uint32_t bound) : bound_{bound} {}

    // Whether it may have so many more, as far as is known without another look. `pushed`: handed to it so far.
    [[nodiscard]] bool has_room(std::uint32_t packets, std::uint64_t pushed) const
    {
        return seen_ && !held_ && out_ + (pushed - pushed_) + packets <= bound_;
    }
    // Whether enough time has passed since the last look: looking costs a system call.
    [[nodiscard]] bool may_look(protocol::instant now) const { return !seen_ || now - looked_ >= between_looks; }
    // `sent`: by the device so far. May end a hold.
    void look(std::uint64_t pushed, std::uint64_t sent, protocol::instant now)
    {
        looked_ = now;
        if (!seen_ || sent < sent_ || pushed < pushed_) { // another device, or the first look
            begin(pushed, sent, now);
            return;
        }
        out_ += pushed - pushed_;
        out_ -= std::min(out_, sent - sent_);
        if (sent != sent_)
            moved_ = now;
        pushed_ = pushed;
        sent_ = sent;
        if (held_)
            release(now);
    }
    // Nothing more is handed to it by live frames, until half of the bound is free, or nothing can be out any more: the
    // device has sent as many packets as were out, so the others were dropped, or has sent nothing for `patience`.
    void hold(protocol::instant now)
    {
        held_ = true;
        held_out_ = out_;
        held_sent_ = sent_;
        moved_ = now;
    }
    [[nodiscard]] bool is_held() const { return held_; }

private:
    void begin(std::uint64_t pushed, std::uint64_t sent, protocol::instant now)
    {
        seen_ = true;
        held_ = false;
        out_ = 0;
        pushed_ = pushed;
        sent_ = sent;
        moved_ = now;
    }
    void release(protocol::instant now)
    {
        if (sent_ - held_sent_ >= held_out_ || now - moved_ >= patience)
            out_ = 0;
        held_ = out_ > bound_ / 2;
    }

    std::uint64_t bound_;
    std::uint64_t out_ = 0;    // at the last look, at most
    std::uint64_t pushed_ = 0; // then
    std::uint64_t sent_ = 0;   // then
    bool seen_ = false;
    bool held_ = false;
    std::uint64_t held_out_ = 0;  // when the hold began
    std::uint64_t held_sent_ = 0; // then
    protocol::instant looked_{};
    protocol::instant moved_{}; // when `sent` grew, at the latest look that has seen it; a hold begins anew
};

} // namespace mrc::datapath
