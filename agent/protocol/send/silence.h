// SPDX-License-Identifier: Apache-2.0
// When nothing that the QP sent since a time-out has arrived, the peer is silent (peer_silence.h): probes ask at
// growing intervals, and what is in flight leaves the congestion window, which other QPs share.
#pragma once

#include "protocol/send/requester_state.h"

namespace mrc::protocol
{

// The packet has timed out, and nobody answers.
void fall_silent(requester_state &sender, packet_number number, instant now);
// What is due while silence lasts.
void stay_silent(requester_state &sender, instant now);
// The peer's QP speaks. When it had been quiet for a while, what is in flight gets its time anew: its SACKs may be next
// in the same queue.
void on_heard(requester_state &sender, instant now);
// Waits start anew at most once in so many time-outs, or a slow flow that is heard rarely would never time out.
void forgive_waits(requester_state &sender, instant now);

} // namespace mrc::protocol
