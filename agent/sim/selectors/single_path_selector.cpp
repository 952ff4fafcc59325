// SPDX-License-Identifier: Apache-2.0
#include "sim/selectors/single_path_selector.h"

namespace mrc::sim
{

std::optional<protocol::path_choice> single_path_selector::draw(const protocol::path_group &paths,
                                                                protocol::plane_mask usable,
                                                                const protocol::path_avoidance &)
{
    if (slot_ && usable.has(paths.path(*slot_).plane) && paths.state(*slot_) != protocol::path_state::denied)
        return paths.path(*slot_);
    const auto moved = hash_.draw(paths, usable, {});
    if (moved)
        slot_ = moved->slot;
    return moved;
}

} // namespace mrc::sim
