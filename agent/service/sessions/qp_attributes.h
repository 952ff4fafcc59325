// SPDX-License-Identifier: Apache-2.0
// The attributes of a client's queue pair as values: what it starts with, what a client may ask for and when, and what
// they mean to the transport. No state but what is passed in.
#pragma once

#include <cstdint>
#include <string>

#include "protocol/qp_config.h"
#include "protocol/qp_state.h"
#include "service/config/config.h"
#include "session/session_protocol.h"

namespace mrc::service
{

inline constexpr std::uint16_t most_immediates = 4096; // messages with immediate that are not acknowledged

// Of a queue pair that has just been made or reset.
[[nodiscard]] session::qp_attributes initial_attributes(std::uint32_t qpn, std::uint32_t window_psns,
                                                        const peer_defaults &peers);

struct attribute_bounds {
    std::uint32_t window_psns = 0;
    bool connected = false; // the worker has it: from RTR on
};
// What is wrong with a request to a queue pair in state `from` with the attributes `now`; empty: nothing.
[[nodiscard]] std::string why_refused(const session::qp_attributes &wanted, const session::qp_attributes &now,
                                      protocol::qp_state from, const attribute_bounds &bounds);

// Takes over what the mask names, but for the state.
void adopt(session::qp_attributes &now, const session::qp_attributes &wanted);

// What RTS tells the requester.
[[nodiscard]] protocol::send_terms terms_of(const session::qp_attributes &now);

// What a hint leaves to a queue pair's congestion controller, of what the peer can receive and this host send: 1
// without a hint. The controller is shared by this host's queue pairs to the peer, or the queue pair's own.
[[nodiscard]] double share_of(const session::qp_attributes &now, bool shares_controller);

// What the peer of a queue pair can do (enum session::qp_capability).
[[nodiscard]] std::uint32_t capabilities_of(const peer_defaults &peers);
[[nodiscard]] peer_defaults peer_of(const session::qp_attributes &now);

} // namespace mrc::service
