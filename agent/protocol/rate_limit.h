// SPDX-License-Identifier: Apache-2.0
// A token bucket in one number: the time up to which what has passed is paid for (GCRA, ITU-T I.371). Full at first.
#pragma once

#include <algorithm>

#include "protocol/types.h"

namespace mrc::protocol
{

class rate_limit
{
public:
    // One every `interval`, `burst` of them at once.
    constexpr rate_limit(duration interval, unsigned burst) : interval_{interval}, burst_{burst} {}

    // False, and nothing has changed, when there is no token.
    [[nodiscard]] constexpr bool take(instant now)
    {
        if (next() > now)
            return false;
        paid_ = std::max(paid_, now - burst_ * interval_) + interval_;
        return true;
    }
    // When there is a token.
    [[nodiscard]] constexpr instant next() const { return paid_ + interval_; }

private:
    duration interval_;
    unsigned burst_;
    instant paid_ = instant::min();
};

} // namespace mrc::protocol
