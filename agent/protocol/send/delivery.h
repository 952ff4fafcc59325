// SPDX-License-Identifier: Apache-2.0
// What is known to have arrived. A packet that was sent several times has arrived, but which of its transmissions only
// a SACK that names it can say: evidence about paths and about order comes from transmissions that are certain.
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/send/requester_state.h"

namespace mrc::protocol
{

// One SACK (or a Transport ACK, which says less): what it says, and what it has done so far.
struct sack_scan {
    packet_number cack = -1;
    packet_number base = 0; // of the bitmap
    std::uint64_t bitmap = 0;
    instant arrived;
    std::uint64_t newly_bytes = 0; // that left the congestion window by it
    std::optional<duration> rtt;
    bool proves_retransmission = false; // holes may lie above everything confirmed
    age_evidence age;
};

// A packet that took this path then has reached the peer.
void reached_peer(requester_state &sender, std::uint16_t slot, instant sent_at);
// The packet has arrived, whichever transmission of it.
void deliver(requester_state &sender, packet_number number, sack_scan &scan);
// All that the SACK confirms by cack and by bitmap.
void deliver_confirmed(requester_state &sender, sack_scan &scan);
// Moves the edge over what has arrived.
void advance(requester_state &sender, instant now);
// An original that had arrived, as an answer of that time shows, although it was sent again.
void count_spurious(requester_state &sender, transmission &sent, instant answered);
// The transmission proves losses among those sent before it, in this SACK.
void add_proofs(requester_state &sender, const transmission &sent, sack_scan &scan);

} // namespace mrc::protocol
