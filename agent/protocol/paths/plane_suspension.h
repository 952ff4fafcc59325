// SPDX-License-Identifier: Apache-2.0
// Planes that are left on a mere suspicion. The first evidence against a whole plane may be a lag: on hosts whose
// planes share cores one falls behind the others by milliseconds. Waiting until the lag is ruled out costs a share of
// all packets if the plane is dead; blaming the plane costs its paths for several probes if it is not. To do without it
// for a round trip costs nothing: draws avoid it at once, and two of its paths are asked, which a far host answers in
// XDP, whatever its worker does.
//
// meanwhile                                          the suspicion
// anything sent since the silence began got through  ends: nothing has happened
// others are ahead by more than the known lag        ends: the plane is blamed (path_group.h)
// nothing got through for `patience`                 ends: the plane is blamed
//
// As with SKIP, states of paths are as before and are not shown: it is over within a few round trips.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "protocol/types.h"

namespace mrc::protocol
{

class plane_suspension
{
public:
    explicit plane_suspension(duration patience) : patience_{patience} {}

    [[nodiscard]] plane_mask planes() const { return planes_; }

    // Nothing sent on the plane from `since` on has got through.
    void begin(plane_index plane, instant since, instant now)
    {
        if (planes_.has(plane))
            return;
        planes_.set(plane, true);
        records_[plane.value] = {.since = since, .ask_at = now, .ends_at = now + patience_};
        next_ = std::min(next_, now);
    }
    void end(plane_index plane)
    {
        planes_.set(plane, false);
        if (planes_.empty())
            next_ = never;
    }
    // Something that was sent on it then got through.
    void on_delivered(plane_index plane, instant sent_at)
    {
        if (planes_.has(plane) && sent_at >= records_[plane.value].since)
            end(plane);
    }

    // What is due: a path of the plane is to be asked, or the plane to be blamed for a silence since then, and the
    // suspicion has ended.
    struct step {
        plane_index plane;
        bool blame = false;
        instant since;
    };
    [[nodiscard]] std::optional<step> next_step(instant now);
    [[nodiscard]] instant next_deadline() const { return next_; }

private:
    struct record {
        instant since;
        instant ask_at = never;
        instant ends_at = never;
    };

    plane_mask planes_;
    duration patience_;
    std::array<record, max_planes> records_{};
    instant next_ = never; // nothing is due before
};

} // namespace mrc::protocol
