// SPDX-License-Identifier: Apache-2.0
// How a path leaves use and comes back (protocol.md §4.2). One that is blamed is retired and probed, or, where a floor
// needs it, kept; after a second without blame it is GOOD again. One that is proved brings back those that fell silent
// with its plane. The controller denies and allows, and exchanges EVs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/paths/path_group_state.h"
#include "protocol/paths/path_states.h"

namespace mrc::protocol
{

// `silent_since`: nothing that was sent on it from then on has got through. Means nothing for a path out of use.
void blame(path_group_state &group, unsigned slot, path_cause cause, std::optional<instant> silent_since, instant now);
// KEPT paths whose second is over.
void forget_kept(path_group_state &group, instant now);
// It delivers again, and with it all that fell silent when it did.
void prove(path_group_state &group, unsigned slot, path_cause cause, instant now);

// path_group.h
void deny(path_group_state &group, unsigned slot);
void allow(path_group_state &group, unsigned slot);
void exchange(path_group_state &group, const std::vector<profile_entry> &universe,
              const std::vector<std::uint32_t> &denied);

} // namespace mrc::protocol
