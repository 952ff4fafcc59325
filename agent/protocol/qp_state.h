// SPDX-License-Identifier: Apache-2.0
// QP states and transitions, as verbs has them (IBTA 10.3.1):
//
// state \ event  to_init  to_rtr  to_rts  drain  fail   reset
// RESET          INIT     -       -       -      ERROR  RESET
// INIT           INIT     RTR     -       -      ERROR  RESET
// RTR            -        -       RTS     -      ERROR  RESET
// RTS            -        -       RTS     SQD    ERROR  RESET
// SQD            -        -       RTS     SQD    ERROR  RESET
// ERROR          -        -       -       -      ERROR  RESET
#pragma once

#include <cstdint>
#include <optional>

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

// The state after `event`; nothing when the transition does not exist.
[[nodiscard]] std::optional<qp_state> next_state(qp_state from, qp_event event);

} // namespace mrc::protocol
