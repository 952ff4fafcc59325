// SPDX-License-Identifier: Apache-2.0
// Which path the next packet takes.
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/path_group.h"
#include "protocol/types.h"

namespace mrc::protocol
{

class path_selector
{
public:
    path_selector() = default;
    path_selector(const path_selector &) = delete;
    path_selector &operator=(const path_selector &) = delete;
    virtual ~path_selector() = default;

    // A path of a plane that both ends can use, outside `avoid` when any other is left; nothing when no plane is
    // usable.
    [[nodiscard]] virtual std::optional<path_choice> draw(const path_group &paths, plane_mask avoid) = 0;
    [[nodiscard]] std::optional<path_choice> draw(const path_group &paths) { return draw(paths, plane_mask{}); }

    // SACK m = SKIP_ONCE, NACK TRIMMED, or one inferred loss on this path.
    virtual void on_congestion(std::uint16_t slot) = 0;
};

} // namespace mrc::protocol
