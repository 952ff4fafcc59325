// SPDX-License-Identifier: Apache-2.0
// One queue pair: requester and responder behind the calls that a worker makes. Sans-IO: packets and `now` in, packets
// and deadlines out. Nothing is allocated after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>

#include "protocol/congestion_control.h"
#include "protocol/memory_sink.h"
#include "protocol/packet.h"
#include "protocol/path_group.h"
#include "protocol/qp_config.h"
#include "protocol/types.h"

namespace mrc::protocol
{

class path_selector;

class queue_pair
{
public:
    // All references outlive the QP. Without `selector` the QP rotates by the MRC rule (mrc_selector.h).
    queue_pair(const qp_config &config, path_group &paths, memory_sink &memory, congestion_control &control,
               path_selector *selector = nullptr);
    queue_pair(const queue_pair &) = delete;
    queue_pair &operator=(const queue_pair &) = delete;
    ~queue_pair();

    [[nodiscard]] std::expected<void, post_error> post_write(const write_request &request, instant now);

    // A packet whose inner source is this QP's peer and whose ICRC was right (or that was trimmed). `payload` holds
    // data_packet::payload_bytes bytes, none when trimmed.
    void on_packet(const packet &content, std::span<const std::byte> payload, const arrival &how, instant now);

    // Control first, then retransmissions (oldest first), then new data; nothing = nothing may be sent now.
    [[nodiscard]] std::optional<outgoing> next_packet(instant now);

    void on_timer(instant now);
    [[nodiscard]] instant next_deadline() const;

    // In posting order; unsignalled requests appear only when they fail.
    [[nodiscard]] std::optional<completion> next_completion();

    // Completes the oldest request with `status` and all others as flushed.
    void fail(completion_status status);

    [[nodiscard]] const qp_counters &counters() const;
    [[nodiscard]] qp_state state() const;
    [[nodiscard]] std::size_t outstanding() const; // requests posted and not yet taken by next_completion
    [[nodiscard]] std::uint32_t inflight_packets() const;
    [[nodiscard]] duration smoothed_rtt() const; // zero before the first sample

    // Arrival of new payload at this end, by the arrival's own time stamps (*stall* in the reports).
    [[nodiscard]] const receive_progress &progress() const;
    void reset_progress();
};

} // namespace mrc::protocol
