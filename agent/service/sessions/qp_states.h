// SPDX-License-Identifier: Apache-2.0
// The states of a client's queue pairs. Until RTR a queue pair is only what is known of it, here; from then on the
// worker has it.
//
// to     needs                                 does
// INIT   -                                     keeps the attributes
// RTR    peer and receive_psn known            builds the queue pair and hands it to the worker: packets come in
// RTS    send_psn known (from RTR)             requests are taken
// SQD    -                                     no request begins
// ERROR  -                                     flushes both queues
// RESET  -                                     takes it from the worker, empties the rings
#pragma once

#include <cstdint>

#include "service/sessions/answer.h"
#include "service/sessions/session_state.h"

namespace mrc::service
{

// After a refusal nothing has changed.
answer modify_qp(session_state &state, const session::qp_attributes &wanted);
[[nodiscard]] answer query_qp(session_state &state, std::uint32_t qpn);

} // namespace mrc::service
