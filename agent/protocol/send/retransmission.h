// SPDX-License-Identifier: Apache-2.0
// What has to be sent again: packets given up one by one, and all that fly on paths which have gone.
#pragma once

#include <cstdint>

#include "protocol/send/requester_state.h"

namespace mrc::protocol
{

// The packet flies no more. True when it was charged: the congestion controller still has to hear of it.
[[nodiscard]] bool land(requester_state &sender, transmission &sent);
// What was lost with the packet, and so whether congestion may have dropped it: if so, the window shrinks by it.
enum class loss_of : std::uint8_t {
    one,  // gaps, a time-out: it may
    path, // its path or plane has fallen silent: only where the peer does not answer trimmed packets, for what
          // congestion drops is trimmed and told there (protocol.md §3.2)
    link, // its plane has no link any more: a cable is no queue
};
// It is lost, wherever: out of the flight, and to be sent again as soon as it may fly.
void lose(requester_state &sender, packet_number number, instant now, loss_of what = loss_of::one);
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
