// SPDX-License-Identifier: Apache-2.0
// What the loops of one way have met with lately, in bins by when they were sent.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "protocol/types.h"
#include "service/fabric_map/loop_record.h"

namespace mrc::service
{

struct loop_bin {
    std::int64_t number = -1; // of the bin's time; -1: nothing was sent yet
    std::uint32_t sent = 0;   // and judged
    std::uint32_t lost = 0;
    std::uint32_t rtt_min_ns = 0; // 0: none has come back
};

class loop_window
{
public:
    static constexpr protocol::duration bin = std::chrono::milliseconds{5};
    static constexpr std::int64_t bins = 200; // a second, by which a fault is to be named

    [[nodiscard]] static std::int64_t bin_of(protocol::instant at) { return at.time_since_epoch() / bin; }

    void take(const loop_outcome &loop)
    {
        loop_bin &to = bins_[static_cast<std::size_t>(bin_of(loop.sent) % bins)];
        if (to.number > bin_of(loop.sent))
            return; // too late: it is another's
        if (to.number != bin_of(loop.sent))
            to = {.number = bin_of(loop.sent)};
        switch (loop.fate) {
        case loop_fate::arrived:
            ++to.sent;
            break;
        case loop_fate::lost:
            ++to.sent;
            ++to.lost;
            break;
        case loop_fate::late:
            to.lost -= std::min(to.lost, 1U);
            break;
        case loop_fate::unjudged:
            break;
        }
        if (loop.rtt_ns != 0)
            to.rtt_min_ns = to.rtt_min_ns == 0 ? loop.rtt_ns : std::min(to.rtt_min_ns, loop.rtt_ns);
    }

    // visit(loop_bin) for those of the last second.
    template <typename Visit>
    void visit(protocol::instant now, Visit visit) const
    {
        for (const loop_bin &each : bins_)
            if (each.number >= 0 && each.number > bin_of(now) - bins)
                visit(each);
    }
    // Of the bin with that number; 0 of one that is gone.
    [[nodiscard]] std::uint32_t lost_in(std::int64_t number) const
    {
        if (number < 0)
            return 0;
        const loop_bin &at = bins_[static_cast<std::size_t>(number % bins)];
        return at.number == number ? at.lost : 0;
    }

private:
    std::array<loop_bin, bins> bins_{};
};

} // namespace mrc::service
