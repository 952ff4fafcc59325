// SPDX-License-Identifier: Apache-2.0
// Calls with live frames that wait for the kernel's XDP dispatcher, of which there is one on a machine: each call takes
// its mutex, which whoever attaches or detaches an XDP program holds for 8 to 24 ms; and where the dispatcher had no
// place left for host_push when it was attached, and has one now, each call gives it that place and takes it away
// again.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

#include "protocol/types.h"

namespace mrc::datapath
{

class slow_calls
{
public:
    static constexpr protocol::duration limit = std::chrono::milliseconds{1}; // a call of 256 frames takes a tenth
    static constexpr protocol::duration period = std::chrono::seconds{1};
    static constexpr std::size_t run = 3; // so many in a period are no accident

    // Whether the caller has to find out if calls wait. A call that is long because the thread lost its processor, or
    // because receivers run in it, does not: only after a long call it is worth the price of looking.
    [[nodiscard]] bool suspicious(protocol::instant now) const { return now - last_long_ < period; }
    [[nodiscard]] static bool is_slow(protocol::duration took, bool waited) { return waited && took >= limit; }
    // `waited`: in the kernel, for something other than a processor; false where the caller did not look. True with the
    // last of a run: from then on calls are not worth making.
    [[nodiscard]] bool on_call(protocol::duration took, bool waited, protocol::instant now)
    {
        if (took < limit)
            return false;
        last_long_ = now;
        if (!is_slow(took, waited))
            return false;
        const protocol::instant first = slow_[next_];
        slow_[next_] = now;
        next_ = (next_ + 1) % slow_.size();
        if (now - first >= period)
            return false;
        slow_.fill(protocol::instant{} - 2 * period);
        return true;
    }

private:
    protocol::instant last_long_ = protocol::instant{} - 2 * period;
    std::array<protocol::instant, run - 1> slow_ = filled(); // when the last ones ended; next_: the oldest
    std::size_t next_ = 0;

    static constexpr std::array<protocol::instant, run - 1> filled()
    {
        std::array<protocol::instant, run - 1> never{};
        never.fill(protocol::instant{} - 2 * period);
        return never;
    }
};

} // namespace mrc::datapath
