// SPDX-License-Identifier: Apache-2.0
// What the peer says: SACK, what has arrived; NACK, why one packet
// was refused; Transport ACK, which requests are done. What contradicts the state is forged, or late: it is counted and
// changes nothing.
#pragma once

#include "protocol/packet.h"
#include "protocol/send/requester_state.h"

namespace mrc::protocol
{

void on_sack(requester_state &sender, const sack_packet &sack, const arrival &how, instant now);
void on_nack(requester_state &sender, const nack_packet &nack, const arrival &how, instant now);
void on_transport_ack(requester_state &sender, const transport_ack_packet &ack, const arrival &how, instant now);

} // namespace mrc::protocol
