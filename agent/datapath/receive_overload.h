// SPDX-License-Identifier: Apache-2.0
// While packets are dropped for want of room here, SACKs ask the senders to slow down; no path is to blame for such
// losses.
#pragma once

#include <cstdint>
#include <utility>

namespace mrc::datapath
{

class receive_overload
{
public:
    // At each look: how many packets have been dropped so far. Whether the penalty has changed.
    bool follow(std::uint64_t dropped)
    {
        const std::uint8_t now = std::exchange(dropped_, dropped) != dropped ? overload_penalty : std::uint8_t{0};
        return std::exchange(penalty_, now) != now;
    }
    // What every SACK says (rcv_cwnd_pen), those of queue pairs that are made meanwhile, too.
    [[nodiscard]] std::uint8_t penalty() const { return penalty_; }

private:
    // It stands until the next look, some ten to fifty RTTs later: 2 of 128 per window of bytes leaves the senders
    // between half and nine tenths. It is not taken back: the window that was too large grows again by itself.
    static constexpr std::uint8_t overload_penalty = 2;

    std::uint64_t dropped_ = 0;
    std::uint8_t penalty_ = 0;
};

} // namespace mrc::datapath
