// SPDX-License-Identifier: Apache-2.0
// The worker's side of the rings that a client shares with it for one queue pair: requests in, completions and events
// out. Each function stops after so many entries, and says how many it moved: whose turn it is, is not decided here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "datapath/worker_client.h"
#include "protocol/types.h"

namespace mrc::datapath
{

// There are requests that may be taken now, or that are to be flushed.
[[nodiscard]] bool has_requests(const worker_qp &qp);

// Nothing to take, to send, or to complete, but what something else must bring.
[[nodiscard]] bool only_waits(const worker_qp &qp);

// It has something to send, but waits for room in its congestion window.
[[nodiscard]] std::optional<protocol::window_wish> waits_for_window(worker_qp &qp);

// Only waits, and for nothing.
[[nodiscard]] bool is_idle(const worker_qp &qp);

// Send requests, while the queue pair has room for them; of a failed one, send and receive requests, which are flushed.
std::size_t take_requests(worker_qp &qp, std::size_t most, protocol::instant now);

// Receive requests stay in their ring until messages may need them: as many as the packet that has just come can
// complete.
std::size_t take_receives_for_packet(worker_qp &qp);

// Completions, and what has become of the queue pair.
std::size_t deliver_completions(worker_qp &qp, std::size_t most);

} // namespace mrc::datapath
