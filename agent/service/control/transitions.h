// SPDX-License-Identifier: Apache-2.0
// The life cycle that formats, EV profiles and CC profiles share. What each of them asks for on a step stands with its
// store.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/transition_table.h"
#include "session/values.h"

namespace mrc::service::control
{

// By the state that a call asks for.
inline constexpr auto profile_transitions = [] {
    using from = session::profile_state;
    using on = session::profile_state;
    using to = session::profile_state;
    return protocol::transition_table<session::profile_state, session::profile_state, 3, 3>{
        {from::init, on::offline, to::offline},
        {from::offline, on::online, to::online},
        {from::offline, on::init, to::init}, // forgotten
        {from::online, on::offline, to::offline},
    };
}();

[[nodiscard]] std::string_view text(session::profile_state state);

// The state to go to; nothing when the call asks for none or for the present one. EINVAL for steps that do not exist,
// and when the state is not the one that the caller takes it to be.
[[nodiscard]] session::outcome<std::optional<session::profile_state>>
transition_of(session::profile_state from, std::optional<std::uint32_t> asked, std::optional<std::uint32_t> current);

// In which states attributes can be set at all, `to` being where the call leads: EINVAL otherwise.
[[nodiscard]] session::outcome<> check_modifiable(session::profile_state from, std::optional<session::profile_state> to,
                                                  bool attributes, bool online_attributes);

} // namespace mrc::service::control
