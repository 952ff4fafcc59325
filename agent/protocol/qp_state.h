// SPDX-License-Identifier: Apache-2.0
// QP states and transitions, as verbs has them (IBTA 10.3.1).
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/transition_table.h"

namespace mrc::protocol
{

enum class qp_state : std::uint8_t {
    reset,
    init,
    ready_to_receive,
    ready_to_send,
    send_queue_drained,
    error,
};

enum class qp_event : std::uint8_t {
    to_init,
    to_ready_to_receive,
    to_ready_to_send,
    drain,
    fail,
    reset,
};

inline constexpr auto qp_transitions = [] {
    using from = qp_state;
    using on = qp_event;
    using to = qp_state;
    return transition_table<qp_state, qp_event, 6, 6>{
        {from::reset, on::to_init, to::init},
        {from::init, on::to_init, to::init},
        {from::init, on::to_ready_to_receive, to::ready_to_receive},
        {from::ready_to_receive, on::to_ready_to_send, to::ready_to_send},
        {from::ready_to_send, on::to_ready_to_send, to::ready_to_send},
        {from::ready_to_send, on::drain, to::send_queue_drained},
        {from::send_queue_drained, on::to_ready_to_send, to::ready_to_send},
        {from::send_queue_drained, on::drain, to::send_queue_drained},
        {from::reset, on::fail, to::error},
        {from::init, on::fail, to::error},
        {from::ready_to_receive, on::fail, to::error},
        {from::ready_to_send, on::fail, to::error},
        {from::send_queue_drained, on::fail, to::error},
        {from::error, on::fail, to::error},
        {from::reset, on::reset, to::reset},
        {from::init, on::reset, to::reset},
        {from::ready_to_receive, on::reset, to::reset},
        {from::ready_to_send, on::reset, to::reset},
        {from::send_queue_drained, on::reset, to::reset},
        {from::error, on::reset, to::reset},
    };
}();

// The state after `event`; nothing when the transition does not exist.
[[nodiscard]] constexpr std::optional<qp_state> next_state(qp_state from, qp_event event)
{
    return qp_transitions.next(from, event);
}

} // namespace mrc::protocol
