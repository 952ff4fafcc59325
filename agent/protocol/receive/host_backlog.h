// SPDX-License-Identifier: Apache-2.0
// The queue inside the receiving host: a packet that has waited there is late by no fault of any path, so no path is
// told (m = SKIP_ONCE would make the sender leave one after the other), and no SACK is asked for that was not due. What
// SACKs do tell is the receiver's penalty (rcv_cwnd_pen, protocol.md §4.2), which shrinks the sender's window by
// penalty / 128 per window of bytes.
//
// waited, in marks        penalty    the window, per round trip
// up to 1                 none       grows
// n                       4 n        falls by 3 % for each
// 8 and more              32         falls by a quarter
//
// A window that is too large by as much as the queue is long comes down within a few round trips, while one packet that
// met a busy core costs no more than the next round trip gives back.
#pragma once

#include <algorithm>
#include <cstdint>

#include "protocol/types.h"

namespace mrc::protocol
{

// `mark` = 0: none.
[[nodiscard]] constexpr std::uint8_t backlog_penalty(duration waited, duration mark)
{
    constexpr std::int64_t per_mark = 4;
    constexpr std::int64_t strongest = 32;
    if (mark == duration{0} || waited <= mark)
        return 0;
    return static_cast<std::uint8_t>(std::min(waited / mark * per_mark, strongest));
}

} // namespace mrc::protocol
