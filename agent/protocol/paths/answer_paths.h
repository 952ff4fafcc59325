// SPDX-License-Identifier: Apache-2.0
// By which path an answer leaves (protocol.md §4.4): back the way by which its cause has just come, for these links
// live in that direction at least. By the reverse EV of that plane (reverse_evs.h) where the way is out of use, or
// missed a heartbeat; by another plane's where that plane cannot be taken, or is silent. Whatever is known to be worse
// is taken rather than nothing, for the peer waits.
#pragma once

#include <optional>

#include "protocol/paths/path_group_state.h"

namespace mrc::protocol
{

// `cause`: by which what is answered came; `usable`: planes that both ends can use now. Nothing while all paths
// there are denied.
[[nodiscard]] std::optional<path_choice> answer_path(path_group_state &group, path_index cause, plane_mask usable);

} // namespace mrc::protocol
