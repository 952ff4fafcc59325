// SPDX-License-Identifier: Apache-2.0
// A client's queue pairs: how they come and go.
#pragma once

#include <algorithm>
#include <cstdint>

#include "service/config/config.h"
#include "service/sessions/answer.h"
#include "service/sessions/session_state.h"
#include "session/work_ring.h"

namespace mrc::service
{

answer create_qp(session_state &state, const session::qp_request &request);
answer destroy_qp(session_state &state, std::uint32_t qpn);
// At the session's end.
void release_qps(session_state &state);

// Each has a bell of the session's.
[[nodiscard]] inline std::uint32_t most_of_a_session(const limit_options &limits)
{
    return std::min(limits.queue_pairs, session::bell_page::queue_pairs);
}

[[nodiscard]] session::queue_pair_layout layout_of(const session::qp_reply &numbers);

} // namespace mrc::service
