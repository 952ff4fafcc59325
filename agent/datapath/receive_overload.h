// SPDX-License-Identifier: Apache-2.0
// While packets are dropped for want of room here, SACKs ask the senders to slow down; no path is to blame for such
// losses. By two ways:
//
// rcv_cwnd_pen   `overload_penalty` until a look finds no new drops
// Dynamic MPR    the share of their windows that queue pairs offer (protocol/receive/offered_window.h): halved by each
//                look that finds drops, down to a sixteenth; one part of sixteen more with each look that does not
//
// The penalty is not taken back where it is all that slows senders: the window that was too large grows again by
// itself. With Dynamic MPR it is, by restore_cwnd, when the share is whole again: what this host can take bounds the
// sender then, and the cut of its congestion window said nothing about the network.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "protocol/receive/offered_window.h"

namespace mrc::datapath
{

class receive_overload
{
public:
    // At each look: how many packets have been dropped so far, fewer where a socket has gone. Whether anything of what
    // follows has changed.
    bool follow(std::uint64_t dropped)
    {
        const bool any = dropped > std::exchange(dropped_, dropped);
        const state before = now_;
        now_.penalty = any ? overload_penalty : std::uint8_t{0};
        now_.share = any ? std::max(now_.share / 2, 1U) : std::min(now_.share + 1, protocol::whole_window);
        now_.whole_again = now_.share == protocol::whole_window && before.share != protocol::whole_window;
        return now_ != before;
    }
    // What every SACK says (rcv_cwnd_pen), those of queue pairs that are made meanwhile, too.
    [[nodiscard]] std::uint8_t penalty() const { return now_.penalty; }
    // Of protocol::whole_window.
    [[nodiscard]] unsigned share() const { return now_.share; }

private:
    // It stands until the next look, some ten to fifty RTTs later: 2 of 128 per window of bytes leaves the senders
    // between half and nine tenths.
    static constexpr std::uint8_t overload_penalty = 2;

    struct state {
        std::uint8_t penalty = 0;
        unsigned share = protocol::whole_window;
        bool whole_again = false; // until the next look, which says so, too: restore_cwnd ends with it
        friend bool operator==(const state &, const state &) = default;
    };

    std::uint64_t dropped_ = 0;
    state now_;
};

} // namespace mrc::datapath
