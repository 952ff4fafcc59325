// SPDX-License-Identifier: Apache-2.0
// What has to be sent again: packets given up one by one, and all that fly on paths which have gone.
#pragma once

#include "protocol/send/requester_state.h"

namespace mrc::protocol
{

// The packet flies no more. True when it was charged: the congestion controller still has to hear of it.
[[nodiscard]] bool land(requester_state &sender, transmission &sent);
// It is lost, wherever: out of the flight, and to be sent again as soon as it may fly.
//
// why                                         the congestion window
// gaps, a time-out                            shrinks by it
// its plane has no link any more              stays: a cable is no queue
// its path or plane has fallen silent         stays where the peer answers trimmed packets, for what congestion drops
//                                             is trimmed and told (protocol.md §3.2); else shrinks
void lose(requester_state &sender, packet_number number, instant now);
void lose_to_dead_link(requester_state &sender, packet_number number);
void lose_to_silence(requester_state &sender, packet_number number, instant now);
// The same of one that has landed already.
void give_up(requester_state &sender, packet_number number);
// The peer has refused one that has landed: its timer sends it again.
void send_when_timer_ends(requester_state &sender, packet_number number, instant now);

void leave_paths(requester_state &sender, instant now);
// Since the last look paths may have fallen silent, and planes may have been lost: what flies there is sent again at
// once.
inline void leave_dead_paths(requester_state &sender, instant now)
{
    if (sender.way.carrying() != sender.carrying || sender.silence_generation != sender.way.paths.silence_generation())
        leave_paths(sender, now);
}

} // namespace mrc::protocol
