// SPDX-License-Identifier: Apache-2.0
// A client's queue pair meets its peer: from RTR on the worker has it.
#pragma once

#include <memory>

#include "service/sessions/answer.h"
#include "service/sessions/session_state.h"

namespace mrc::service
{

// To RTR.
answer connect_qp(session_state &state, owned_qp &qp);
// To RTS.
answer start_sending(session_state &state, owned_qp &qp);
// The hint of one that the worker has: its congestion controller begins there, if nothing was sent yet.
void take_hint(const session_state &state, const owned_qp &qp);
// Out of the worker; nothing comes in from before this returns on. Its row is taken still, by no peer.
void disconnect_qp(session_state &state, owned_qp &qp);

} // namespace mrc::service
