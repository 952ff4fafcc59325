// SPDX-License-Identifier: Apache-2.0
// One call of ev_profile_store::modify on its way: the profile as it will be, and what running traffic is to be told.
#pragma once

#include <optional>
#include <vector>

#include "service/control/ev_profile_store.h"

namespace mrc::service::control
{

struct ev_profile_store::job {
    std::uint64_t id;
    const ev_profile_change &change;
    ev_profile profile;
    std::optional<session::profile_state> to;
    std::optional<session::ev_operation> edit;
    std::optional<std::uint32_t> count; // asked for
    std::uint32_t done = 0;
    std::vector<std::size_t> judged; // entries whose denial changed, in order
    bool other_evs = false;          // while ONLINE

    [[nodiscard]] bool online() const { return profile.state == session::profile_state::online; }
};

} // namespace mrc::service::control
