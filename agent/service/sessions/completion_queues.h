// SPDX-License-Identifier: Apache-2.0
// A client's completion queues.
#pragma once

#include <cstdint>

#include "service/sessions/answer.h"
#include "service/sessions/session_state.h"

namespace mrc::service
{

answer create_cq(session_state &state, const session::cq_request &request);
answer destroy_cq(session_state &state, std::uint32_t number);

} // namespace mrc::service
