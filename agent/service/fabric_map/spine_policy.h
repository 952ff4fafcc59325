// SPDX-License-Identifier: Apache-2.0
// Which spines this host leaves toward which leaves ([fabric_map] deny_lossy): what crosses a link or a spine that
// loses packets, or is dead, is sent again, and holds up all the rest. Sans-IO, times as arguments.
//
// named at fault, lossy or dead      left
// spine                              that spine, toward all leaves
// link of the own leaf to a spine    likewise; also where it cannot be told from the spine
// link of another leaf to a spine    that spine, toward that leaf
//
// It is left as soon as it is named, which has waited already, and comes back when the fault has been gone for
// `probation`, each time twice as long, at most `longest`. How many stay in use whatever is left: path_groups.h.
#pragma once

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <set>

#include "mrc/abi/maps.h"
#include "protocol/types.h"
#include "service/fabric_map/fault_board.h"
#include "service/left_path.h"

namespace mrc::service
{

class spine_policy
{
public:
    static constexpr protocol::duration probation = std::chrono::seconds{10};
    static constexpr protocol::duration longest = std::chrono::minutes{5};

    explicit spine_policy(std::uint32_t own_leaf) : own_leaf_{own_leaf} {}

    void on_fault(const fault_change &change)
    {
        const fault_place &place = change.fault.place;
        if (place.spine == MRC_FAULT_NOWHERE)
            return;
        const bool is_bad = change.fault.state >= MRC_LINK_LOSSY;
        const auto at = spines_.find(place);
        if (at == spines_.end() && !is_bad)
            return;
        known_spine &known = at == spines_.end() ? spines_[place] : at->second;
        if (is_bad && !known.is_left) {
            known.is_left = true;
            known.remaining = known.next;
            known.next = std::min(2 * known.next, longest);
        }
        known.is_bad = is_bad;
        known.since = change.at;
    }

    [[nodiscard]] std::set<left_path> left(protocol::instant now)
    {
        std::set<left_path> all;
        for (auto &[place, known] : spines_) {
            known.is_left = known.is_left && (known.is_bad || now - known.since < known.remaining);
            if (known.is_left)
                all.insert({.plane = place.plane.value,
                            .uplink = place.spine,
                            .leaf = place.leaf == own_leaf_ ? MRC_FAULT_NOWHERE : place.leaf});
        }
        return all;
    }
    // left() may say something else later, though nothing has changed.
    [[nodiscard]] bool is_waiting() const
    {
        return std::ranges::any_of(spines_,
                                   [](const auto &known) { return known.second.is_left && !known.second.is_bad; });
    }

private:
    struct known_spine {
        bool is_bad = false;
        bool is_left = false;
        protocol::instant since{};
        protocol::duration next = probation; // of the next time that it is left
        protocol::duration remaining{};      // of this time
    };

    std::uint32_t own_leaf_;
    std::map<fault_place, known_spine> spines_;
};

} // namespace mrc::service
