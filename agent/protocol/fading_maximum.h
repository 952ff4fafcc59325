// SPDX-License-Identifier: Apache-2.0
// The largest of the values of late: whole in the period in which it was noted and in the next, and less by half in
// each one after that.
#pragma once

#include <algorithm>
#include <cstdint>

#include "protocol/types.h"

namespace mrc::protocol
{

template <typename value>
class fading_maximum
{
public:
    void note(value latest, instant now, duration period)
    {
        if (now - turned_at_ >= period) {
            earlier_ = std::max(current_, earlier_ / 2);
            const auto periods = period > duration{0} ? (now - turned_at_) / period : most_periods;
            for (auto more = std::min(periods, most_periods) - 1; more > 0; --more)
                earlier_ /= 2;
            current_ = value{};
            turned_at_ = now;
        }
        current_ = std::max(current_, latest);
    }
    [[nodiscard]] value most() const { return std::max(current_, earlier_); }

private:
    static constexpr std::int64_t most_periods = 62; // nothing is left then

    instant turned_at_;
    value current_{};
    value earlier_{};
};

} // namespace mrc::protocol
