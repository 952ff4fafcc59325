// SPDX-License-Identifier: Apache-2.0
// Which path the next packet takes.
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/path_group.h"
#include "protocol/types.h"

namespace mrc::protocol
{

enum class path_feedback : std::uint8_t {
    clean,     // SACK, m = NONE
    congested, // SACK, m = SKIP_ONCE
    trimmed,   // NACK TRIMMED, not at the last hop
    lost,      // inferred
};

class path_selector
{
public:
    path_selector() = default;
    path_selector(const path_selector &) = delete;
    path_selector &operator=(const path_selector &) = delete;
    virtual ~path_selector() = default;

    // A path of one of the `usable` planes, outside `avoid` when any other is left; nothing when no plane is usable.
    [[nodiscard]] virtual std::optional<path_choice> draw(const path_group &paths, plane_mask usable,
                                                          plane_mask avoid) = 0;
    // What became of a packet that this QP sent on the path.
    virtual void on_feedback(std::uint16_t slot, path_feedback what) = 0;
};

} // namespace mrc::protocol
