// SPDX-License-Identifier: Apache-2.0
// What a requester waits for at a moment: what an operator is told who asks why a queue pair is slow, and what
// next_packet.h asks before it sends. (For TCP: tcp_info's busy_time, rwnd_limited and sndbuf_limited.)
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/send/requester_state.h"

namespace mrc::protocol
{

// The numbers of enum mrc_send_limit (mrc/abi/maps.h).
enum class send_limit : std::uint8_t {
    nothing,     // no request is unfinished
    application, // all that was posted is on its way, or may not begin while the queue drains
    worker,      // it could send: its turn, or room where the packet would leave
    receiver,    // the peer's window of PSNs, or places for its immediates
    congestion,  // the congestion window
    loss,        // the oldest packet under way, which had been lost
    paths,       // no plane is usable, or the peer is silent on all of them
    memory,      // the pool is empty
};

// After an attempt to send: borrows what the next packet would.
[[nodiscard]] send_limit limit_of(requester_state &sender);

// So many bytes fit into the congestion window, and into what this queue pair may have in flight.
[[nodiscard]] bool may_fly(const requester_state &sender, std::uint32_t bytes);
// What it would take of the congestion window.
struct window_wish {
    std::uint32_t next = 0; // bytes of the next packet
    std::uint64_t all = 0;  // were all that it may send of that size
};

// Where only room in the congestion window keeps the next packet from leaving.
[[nodiscard]] std::optional<window_wish> waits_for_window(requester_state &sender);
// The next new packet, not sent yet; there is one: next < queue.end().
[[nodiscard]] transmission next_new(requester_state &sender);
// No queue that drains, and no immediate that the peer has no place for, keeps the next new packet from being sent.
[[nodiscard]] bool may_start_next(requester_state &sender);

} // namespace mrc::protocol
