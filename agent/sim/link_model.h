// SPDX-License-Identifier: Apache-2.0
// What a link does to frames besides queueing, serialising and delaying them: loses, changes, holds back or repeats
// them. Ports without a model deliver each frame once, after their delay.
#pragma once

#include <array>

#include "sim/frame.h"
#include "sim/sim_time.h"

namespace mrc::sim
{

// When the copies of a frame arrive at the far end.
struct deliveries {
    std::array<picoseconds, 2> at{};
    unsigned count = 0; // 0: the frame is lost
};

class link_model
{
public:
    link_model() = default;
    link_model(const link_model &) = delete;
    link_model &operator=(const link_model &) = delete;
    virtual ~link_model() = default;

    // The frame, which may be changed, has left the port and would arrive then.
    [[nodiscard]] virtual deliveries carry(frame &each, picoseconds arrives) = 0;
};

} // namespace mrc::sim
