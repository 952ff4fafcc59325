// SPDX-License-Identifier: Apache-2.0
// Which path the next packet takes.
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/paths/path_group.h"
#include "protocol/types.h"

namespace mrc::protocol
{

enum class path_feedback : std::uint8_t {
    clean,     // SACK, m = NONE
    congested, // SACK, m = SKIP_ONCE
    trimmed,   // NACK TRIMMED, not at the last hop
    lost,      // inferred
};

// Where a packet had better not go again.
struct path_avoidance {
    plane_mask planes;                 // as long as others have usable paths
    std::optional<std::uint16_t> slot; // a path of these planes, as long as there is another one
};

class path_selector
{
public:
    path_selector() = default;
    path_selector(const path_selector &) = delete;
    path_selector &operator=(const path_selector &) = delete;
    virtual ~path_selector() = default;

    // A path of one of the `usable` planes; nothing when no plane is usable.
    [[nodiscard]] virtual std::optional<path_choice> draw(const path_group &paths, plane_mask usable,
                                                          const path_avoidance &avoid) = 0;
    // What became of a packet that this QP sent on the path.
    virtual void on_feedback(std::uint16_t slot, path_feedback what) = 0;
    // Before each draw and each feedback, for those that forget with time: it is `now`, and a round trip takes `rtt`,
    // smoothed, zero before the first is measured.
    virtual void on_time(instant /*now*/, duration /*rtt*/) {}
};

} // namespace mrc::protocol
