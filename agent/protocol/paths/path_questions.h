// SPDX-License-Identifier: Apache-2.0
// What is asked of paths by EV probes, and what the answers say: of a suspected plane first (plane_suspension.h), then
// of the ways that answers take (reverse_evs.h), of paths that nothing else is heard of (path_heartbeat.h), and of
// those that are out of use (path_prober.h).
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/packet.h"
#include "protocol/paths/path_group_state.h"

namespace mrc::protocol
{

// path_group.h
[[nodiscard]] outgoing make_probe(const path_group_state &group, unsigned slot, std::uint16_t request_id, instant now);
[[nodiscard]] std::optional<outgoing> next_packet(path_group_state &group, instant now, plane_mask reachable);
bool on_packet(path_group_state &group, const endpoint_response_packet &response, const arrival &how);
[[nodiscard]] instant next_deadline(const path_group_state &group);

} // namespace mrc::protocol
