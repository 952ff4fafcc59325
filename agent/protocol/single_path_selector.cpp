// SPDX-License-Identifier: Apache-2.0
#include "protocol/single_path_selector.h"

namespace mrc::protocol
{

std::optional<path_choice> single_path_selector::draw(const path_group &paths, plane_mask usable,
                                                      const path_avoidance &)
{
    if (slot_ && usable.has(paths.path(*slot_).lane) && paths.state(*slot_) != path_state::denied)
        return paths.path(*slot_);
    const auto moved = hash_.draw(paths, usable, {});
    if (moved)
        slot_ = moved->slot;
    return moved;
}

} // namespace mrc::protocol
