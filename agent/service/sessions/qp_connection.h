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

// Anew in `qps_in_use`, after its row of `qps` has changed.
void list_qp(const session_state &state, const owned_qp &qp);

// Of one that the worker has, for its events.
[[nodiscard]] queue_pair_names names_of(const session_state &state, const owned_qp &qp);
// It had been connected, and is not any more: the event, behind those of what came before.
void tell_closed(const session_state &state, const queue_pair_names &which, mrc_event_reason reason);

} // namespace mrc::service
