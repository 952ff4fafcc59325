// SPDX-License-Identifier: Apache-2.0
// The life cycle that formats, EV profiles and CC profiles share: INIT → OFFLINE → ONLINE → OFFLINE → INIT.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "session/values.h"

namespace mrc::service::control
{

[[nodiscard]] std::string_view text(session::profile_state state);

// The state to go to; nothing when the call asks for none or for the present one. EINVAL for steps that do not exist,
// and when the state is not the one that the caller takes it to be.
[[nodiscard]] session::outcome<std::optional<session::profile_state>>
transition_of(session::profile_state from, std::optional<std::uint32_t> asked, std::optional<std::uint32_t> current);

// In which states attributes can be set at all, `to` being where the call leads: EINVAL otherwise.
[[nodiscard]] session::outcome<> check_modifiable(session::profile_state from, std::optional<session::profile_state> to,
                                                  bool attributes, bool online_attributes);

} // namespace mrc::service::control
