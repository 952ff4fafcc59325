// SPDX-License-Identifier: Apache-2.0
// What the requester sends next: probes that are due, then what was lost, oldest first, then the last packet again when
// only its Transport ACK is missing, then new data. Each goes on a path of its own draw, within the congestion window
// and the peer's.
#pragma once

#include <optional>

#include "protocol/packet.h"
#include "protocol/send/requester_state.h"
#include "protocol/types.h"

namespace mrc::protocol
{

// Nothing: nothing may be sent now.
[[nodiscard]] std::optional<outgoing> next_packet(requester_state &sender, instant now);

} // namespace mrc::protocol
