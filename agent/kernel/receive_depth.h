// SPDX-License-Identifier: Apache-2.0
// How many frames the kernel has to receive into. Its fill ring is a queue: each packet comes into the frame that was
// used longest ago, so with thousands of them each is copied to memory that no cache holds any more. With twice as many
// as packets wait, it is copied to where others were read from shortly before.
#pragma once

#include <algorithm>
#include <cstdint>

namespace mrc::kernel
{

// Of one queue; it is told what was used by those who look. Its clock are the packets that are taken: where few come,
// nothing is to be gained. It begins with the most, and what once was too little is not tried again.
class receive_depth
{
public:
    static constexpr std::uint32_t least = 256;        // four times what NAPI receives at a time
    static constexpr std::uint32_t judged_over = 8192; // packets

    explicit receive_depth(std::uint32_t most) : most_{most}, floor_{std::min(least, most)}, depth_{most} {}

    // Frames that the kernel may have.
    [[nodiscard]] std::uint32_t frames() const { return depth_; }

    // `waiting`: packets that had come and were not taken before this look, which takes `taken`; `unused`: frames that
    // the kernel had left for others.
    void on_look(std::uint32_t waiting, std::uint32_t unused, std::uint32_t taken)
    {
        most_waiting_ = std::max(most_waiting_, waiting);
        if (waiting != 0 && unused == 0) { // others may have been dropped
            floor_ = std::min(most_, 2 * floor_);
            depth_ = most_;
        } else if (waiting > depth_ / 2) {
            depth_ = std::min(most_, 4 * waiting);
        }
        taken_ += taken;
        if (taken_ < judged_over)
            return;
        depth_ = std::clamp(2 * std::max(most_waiting_, waited_before_), floor_, most_);
        waited_before_ = most_waiting_;
        most_waiting_ = 0;
        taken_ = 0;
    }

private:
    std::uint32_t most_;
    std::uint32_t floor_;
    std::uint32_t depth_;
    std::uint32_t most_waiting_ = 0;  // since it was last judged
    std::uint32_t waited_before_ = 0; // and the time before
    std::uint32_t taken_ = 0;
};

} // namespace mrc::kernel
