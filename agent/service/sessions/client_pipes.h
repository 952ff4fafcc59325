// SPDX-License-Identifier: Apache-2.0
// The pipes in which a client is told of what it did not ask for: event pipes (ports, queue pairs, completion queues)
// and completion channels, which also carry EV events to those who subscribed.
#pragma once

#include <cstdint>
#include <memory>

#include "service/sessions/answer.h"
#include "service/sessions/session_state.h"

namespace mrc::service
{

answer open_events(session_state &state);
answer close_events(session_state &state, std::uint32_t number);
// nullptr: the session has none of that number.
[[nodiscard]] std::shared_ptr<const datapath::client_pipe> events_of(const session_state &state, std::uint32_t number);
// To all event pipes of the client.
void notify(const session_state &state, const session::event_record &event);

answer create_channel(session_state &state);
answer destroy_channel(session_state &state, std::uint32_t number);

// EV events of the subscription are told in that channel from now on, when there is one.
void add_subscription(session_state &state, std::uint64_t subscription, std::uint32_t channel);
// An EV event waits to be polled.
void notify_subscription(const session_state &state, std::uint64_t subscription);

} // namespace mrc::service
