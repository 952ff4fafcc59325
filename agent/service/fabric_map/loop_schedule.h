// SPDX-License-Identifier: Apache-2.0
// Which loops leave in a round: by every way once in each interval; by suspicious ones in each shorter one. The ways to
// the leaves come first; where the budget does not suffice for all spines in one interval, they take turns, and the
// hosts behind a leaf cover them together. Sans-IO, times as arguments.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "protocol/types.h"
#include "service/fabric_map/loop_ways.h"

namespace mrc::service
{

struct loop_rates {
    protocol::duration interval{};
    protocol::duration suspect_interval{}; // no longer than `interval`
    std::uint32_t per_second = 0;          // loops of all ways; as many again by suspicious ones
};

class loop_schedule
{
public:
    loop_schedule(std::span<const loop_way> ways, const loop_rates &rates) : rates_{rates}, count_{ways.size()}
    {
        for (std::uint32_t row = 0; row < ways.size(); ++row)
            (ways[row].spine ? spines_ : leaves_).push_back(row);
    }

    [[nodiscard]] protocol::instant next_round(bool is_any_suspect) const
    {
        return std::min(regular_, is_any_suspect ? suspects_ : protocol::never);
    }

    // choose(way) for each way whose loop is to leave now; is_suspect(way). What was missed is not made up for.
    template <typename Suspect, typename Choose>
    void round(protocol::instant now, Suspect is_suspect, Choose choose)
    {
        const bool is_regular = now >= regular_;
        if (is_regular) {
            regular_round(choose);
            regular_ = std::max(regular_ + rates_.interval, now + rates_.interval / 2);
        }
        if (now < suspects_ && !is_regular)
            return;
        // By when they were due: each round is late by what waking takes, which would add up.
        suspects_ = (suspects_ + rates_.suspect_interval > now ? suspects_ : now) + rates_.suspect_interval;
        if (is_regular)
            return; // they were among all
        std::uint32_t left = share_of(rates_.suspect_interval);
        for (const auto *group : {&leaves_, &spines_})
            for (const std::uint32_t way : *group)
                if (left != 0 && is_suspect(way)) {
                    choose(way);
                    --left;
                }
    }

private:
    [[nodiscard]] std::uint32_t share_of(protocol::duration of) const
    {
        const auto share = static_cast<std::int64_t>(rates_.per_second) * of.count() / std::int64_t{1'000'000'000};
        return static_cast<std::uint32_t>(std::clamp<std::int64_t>(share, 1, static_cast<std::int64_t>(count_)));
    }

    template <typename Choose>
    void regular_round(Choose choose)
    {
        std::uint32_t left = share_of(rates_.interval);
        for (const std::uint32_t way : leaves_) {
            choose(way);
            left -= left == 0 ? 0 : 1;
        }
        for (std::uint32_t i = 0; i < spines_.size() && left != 0; ++i, --left) {
            choose(spines_[turn_]);
            turn_ = (turn_ + 1) % static_cast<std::uint32_t>(spines_.size());
        }
    }

    loop_rates rates_;
    std::size_t count_;
    std::vector<std::uint32_t> leaves_;
    std::vector<std::uint32_t> spines_;
    std::uint32_t turn_ = 0; // of spines_
    protocol::instant regular_ = protocol::instant::min();
    protocol::instant suspects_ = protocol::instant::min();
};

} // namespace mrc::service
