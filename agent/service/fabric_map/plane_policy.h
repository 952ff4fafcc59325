// SPDX-License-Identifier: Apache-2.0
// Which planes this host leaves because the link of its own port loses packets ([fabric_map] deny_lossy): what is sent
// there is lost and sent again, and holds up all the rest. Sans-IO, times as arguments.
//
// a plane is                when
// left                      its link has been lossy for `after`, and `min_planes` others are in use
// back in use               its link has been good for `probation`, each time twice as long, at most `longest`
// back in use at once       fewer than `min_planes` would be in use without it
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "mrc/abi/maps.h"
#include "protocol/types.h"

namespace mrc::service
{

class plane_policy
{
public:
    static constexpr protocol::duration after = std::chrono::milliseconds{500};
    static constexpr protocol::duration probation = std::chrono::seconds{10};
    static constexpr protocol::duration longest = std::chrono::minutes{5};

    explicit plane_policy(unsigned min_planes) : min_planes_{min_planes} {}

    // The link of the plane's own port.
    void on_link(protocol::plane_index plane, mrc_link_state state, protocol::instant now)
    {
        plane_link &of = planes_[plane.value];
        if (of.state != state)
            of.since = now;
        of.state = state;
    }

    // Planes that are left, of those that are `usable` otherwise.
    [[nodiscard]] protocol::plane_mask left(protocol::plane_mask usable, protocol::instant now)
    {
        for (std::uint8_t number = 0; number < MRC_MAX_PORTS; ++number)
            come_back(planes_[number], now);
        for (std::uint8_t number = 0; number < MRC_MAX_PORTS; ++number)
            leave(protocol::plane_index{number}, usable, now);
        for (std::uint8_t number = 0; number < MRC_MAX_PORTS && in_use(usable) < min_planes_; ++number)
            if (usable.has(protocol::plane_index{number}))
                planes_[number].is_left = false;
        protocol::plane_mask all;
        for (std::uint8_t number = 0; number < MRC_MAX_PORTS; ++number)
            all.set(protocol::plane_index{number}, planes_[number].is_left);
        return all;
    }
    // left() may say something else later, though nothing has changed.
    [[nodiscard]] bool is_waiting() const
    {
        return std::ranges::any_of(planes_,
                                   [](const plane_link &of) { return of.is_left || of.state == MRC_LINK_LOSSY; });
    }

private:
    struct plane_link {
        mrc_link_state state = MRC_LINK_UNKNOWN;
        protocol::instant since{};
        bool is_left = false;
        protocol::duration probation = plane_policy::probation; // the next time that it is left
        protocol::duration remaining{};                         // of this time
    };

    static void come_back(plane_link &of, protocol::instant now)
    {
        if (of.is_left && of.state == MRC_LINK_GOOD && now - of.since >= of.remaining)
            of.is_left = false;
    }

    void leave(protocol::plane_index plane, protocol::plane_mask usable, protocol::instant now)
    {
        plane_link &of = planes_[plane.value];
        if (of.is_left || of.state != MRC_LINK_LOSSY || now - of.since < after || !usable.has(plane) ||
            in_use(usable) <= min_planes_)
            return;
        of.is_left = true;
        of.remaining = of.probation;
        of.probation = std::min(2 * of.probation, longest);
    }

    [[nodiscard]] unsigned in_use(protocol::plane_mask usable) const
    {
        unsigned count = 0;
        for (std::uint8_t number = 0; number < MRC_MAX_PORTS; ++number)
            count += usable.has(protocol::plane_index{number}) && !planes_[number].is_left ? 1 : 0;
        return count;
    }

    unsigned min_planes_;
    std::array<plane_link, MRC_MAX_PORTS> planes_{};
};

} // namespace mrc::service
