// SPDX-License-Identifier: Apache-2.0
// Which paths of each plane are drawn: its active set, of as many on each plane. The others are backups: one takes the
// place of a path that leaves use, of its own plane, so that planes stay evenly loaded. Every change of a path's state
// passes here, for the sets are counted by it.
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/paths/path_group_state.h"
#include "protocol/paths/path_states.h"

namespace mrc::protocol
{

// By the table of path_states.h. False where it has no row: the event means nothing in that state.
bool step(path_group_state &group, unsigned slot, path_event event, path_cause cause);
// A path in use that waits for a place on the plane of this one.
[[nodiscard]] std::optional<std::uint16_t> find_backup(const path_group_state &group, unsigned slot);
// Its backup, if there is one, takes its place.
void find_substitute(path_group_state &group, unsigned slot);
// It takes the place of a path that is not in use, if one of its plane's has it.
void find_place(path_group_state &group, unsigned slot);
// Active paths in use on planes that this host can use.
[[nodiscard]] unsigned good_on_usable_planes(const path_group_state &group);
// Planes with at least one such path, and not suspected.
[[nodiscard]] inline plane_mask good_planes(const path_group_state &group)
{
    return plane_mask{group.good_planes.bits() & ~group.suspension.planes().bits()};
}
// State changes that have not been told, path_group::next_transition().
[[nodiscard]] std::optional<path_transition> next_transition(path_group_state &group);

} // namespace mrc::protocol
