// SPDX-License-Identifier: Apache-2.0
#include "protocol/qp_state.h"

namespace mrc::protocol
{

std::optional<qp_state> next_state(qp_state from, qp_event event)
{
    using enum qp_state;
    switch (event) {
    case qp_event::reset:
        return reset;
    case qp_event::fail:
        return error;
    case qp_event::to_init:
        return from == reset || from == init ? std::optional{init} : std::nullopt;
    case qp_event::to_ready_to_receive:
        return from == init ? std::optional{ready_to_receive} : std::nullopt;
    case qp_event::to_ready_to_send:
        return from == ready_to_receive || from == ready_to_send || from == send_queue_drained
                   ? std::optional{ready_to_send}
                   : std::nullopt;
    case qp_event::drain:
        return from == ready_to_send || from == send_queue_drained ? std::optional{send_queue_drained} : std::nullopt;
    }
    return std::nullopt;
}

} // namespace mrc::protocol
