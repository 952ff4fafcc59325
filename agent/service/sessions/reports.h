// SPDX-License-Identifier: Apache-2.0
// What a client may ask about the host, its queue pairs and the daemon.
#pragma once

#include <cstdint>

#include "service/sessions/answer.h"
#include "service/sessions/session_state.h"

namespace mrc::service
{

inline constexpr std::uint32_t most_pieces = 16; // of a request
inline constexpr std::uint32_t most_inline = 256;

[[nodiscard]] answer describe(const session_state &state);
[[nodiscard]] answer report_qp(const session_state &state, std::uint32_t qpn);
answer reset_progress(const session_state &state, std::uint32_t qpn);
[[nodiscard]] answer query_status(const session_state &state);

} // namespace mrc::service
