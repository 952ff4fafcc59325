// SPDX-License-Identifier: Apache-2.0
// Which way the link of the leaf to a spine loses packets, by loops that cross it once: out by the spine in question
// and back by a good one, and the other way round, over another leaf, whose own ways are tried by a third loop. Of one
// plane, one spine at a time. Where there is no other good spine, or no other leaf, it cannot be told. Sans-IO.
//
//   up     port → T0 → suspect → other leaf → partner → T0 → port
//   down   port → T0 → partner → other leaf → suspect → T0 → port
//   base   port → T0 → partner → other leaf → partner → T0 → port
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "mrc/abi/maps.h"
#include "service/fabric_map/loss_likelihood.h"

namespace mrc::service
{

class direction_finder
{
public:
    static constexpr std::size_t loops = 3; // up, down, base
    static constexpr double least = 40;     // of each, before anything is said

    struct trip {
        std::uint32_t suspect = 0;
        std::uint32_t partner = 0;
        std::uint32_t leaf = 0;
        friend bool operator==(const trip &, const trip &) = default;
    };

    direction_finder(std::uint32_t leaves, std::uint32_t own_leaf) : leaves_{leaves}, own_leaf_{own_leaf}
    {
        next_leaf();
    }

    // Spines that are at fault now, and one that is good. True: loops go other ways from now on, or none do.
    bool follow(std::span<const std::uint32_t> faulty, std::optional<std::uint32_t> good)
    {
        std::erase_if(known_, [&](const auto &each) { return !is_among(faulty, each.first); });
        std::optional<trip> wanted;
        for (const std::uint32_t spine : faulty)
            if (good && leaves_ > 1 && !wanted && !known_.contains(spine))
                wanted = trip{.suspect = spine, .partner = *good, .leaf = leaf_};
        const bool is_same_suspect = wanted && now_ && wanted->suspect == now_->suspect && wanted->leaf == now_->leaf &&
                                     !is_among(faulty, now_->partner);
        if (wanted == now_ || is_same_suspect) // the partner need not be the best
            return false;
        now_ = wanted;
        seen_ = {};
        return true;
    }
    // Where loops go now; none: nothing is to be found.
    [[nodiscard]] const std::optional<trip> &now() const { return now_; }
    // A loop of that kind was lost, or came back.
    void take(std::size_t loop, bool is_lost)
    {
        seen_[loop].sent += 1;
        seen_[loop].lost += is_lost ? 1 : 0;
        if (now_)
            decide(now_->suspect);
    }
    [[nodiscard]] mrc_link_direction direction_of(std::uint32_t spine) const
    {
        const auto at = known_.find(spine);
        return at == known_.end() ? MRC_DIRECTION_UNKNOWN : at->second;
    }

private:
    static bool is_among(std::span<const std::uint32_t> spines, std::uint32_t spine)
    {
        for (const std::uint32_t each : spines)
            if (each == spine)
                return true;
        return false;
    }

    void next_leaf()
    {
        leaf_ = (leaf_ + 1) % leaves_;
        if (leaf_ == own_leaf_)
            leaf_ = (leaf_ + 1) % leaves_;
    }

    void decide(std::uint32_t suspect)
    {
        const auto &[up, down, base] = seen_;
        if (up.sent < least || down.sent < least || base.sent < least)
            return;
        if (ratio_beyond(base, 0.01) >= once_in_a_thousand) { // the other leaf's own ways are no good
            next_leaf();
            seen_ = {};
            return;
        }
        const bool is_up = ratio_above(up, base) >= once_in_a_thousand;
        const bool is_down = ratio_above(down, base) >= once_in_a_thousand;
        if (is_up && is_down)
            known_[suspect] = MRC_DIRECTION_BOTH;
        else if (is_up && ratio_above(up, down) >= once_in_a_thousand)
            known_[suspect] = MRC_DIRECTION_UP;
        else if (is_down && ratio_above(down, up) >= once_in_a_thousand)
            known_[suspect] = MRC_DIRECTION_DOWN;
    }

    std::uint32_t leaves_;
    std::uint32_t own_leaf_;
    std::uint32_t leaf_ = 0; // that loops go over
    std::optional<trip> now_;
    std::array<loss_count, loops> seen_{};
    std::map<std::uint32_t, mrc_link_direction> known_; // by spine, while it is at fault
};

} // namespace mrc::service
