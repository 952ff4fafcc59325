// SPDX-License-Identifier: Apache-2.0
// Time-outs wait for answers that have arrived: a packet whose SACK lies unread in a ring is not lost. So no timer runs
// in a round that has left something unread; but after as many rounds as a full ring takes, all that lay there when the
// first of them began has been read, and timers run, however fast more comes in.
#pragma once

#include <cstdint>

namespace mrc::datapath
{

class timer_gate
{
public:
    // `rounds` that read a ring which was full.
    explicit constexpr timer_gate(std::uint32_t rounds) : patience_{rounds} {}

    // After a round's reading. `unread`: a ring may hold more.
    [[nodiscard]] constexpr bool may_run(bool unread)
    {
        if (unread && ++waited_ < patience_)
            return false;
        waited_ = 0;
        return true;
    }

private:
    std::uint32_t patience_;
    std::uint32_t waited_ = 0;
};

} // namespace mrc::datapath
