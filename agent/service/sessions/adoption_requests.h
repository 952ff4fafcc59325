// SPDX-License-Identifier: Apache-2.0
// Requests of a session for adopted cgroups (service/sockets/adoptions.h).
#pragma once

#include <cstdint>

#include "service/sessions/answer.h"
#include "service/sessions/session_state.h"

namespace mrc::service
{

// `socket` is the session's: it tells which process asks.
[[nodiscard]] answer adopt_cgroup(session_state &state, const session::adopt_request &wish, int cgroup, int socket,
                                  const asking_user &who);
[[nodiscard]] answer list_adopted(session_state &state, std::uint32_t position);
[[nodiscard]] answer undo_adoption(session_state &state, std::uint32_t number, const asking_user &who);

} // namespace mrc::service
