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
#include "protocol/mrc_selector.h"
#include "protocol/packet.h"
#include "protocol/path_group.h"
#include "protocol/qp_config.h"
#include "protocol/requester.h"
#include "protocol/responder.h"
#include "protocol/types.h"

namespace mrc::protocol
{

class queue_pair
{
public:
    // All references outlive the QP. Without `selector` the QP rotates by the MRC rule (mrc_selector.h).
    queue_pair(const qp_config &config, path_group &paths, memory_sink &memory, congestion_control &control,
               path_selector *selector = nullptr);
    queue_pair(const queue_pair &) = delete;
    queue_pair &operator=(const queue_pair &) = delete;

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

    [[nodiscard]] const qp_counters &counters() const { return counters_; }
    [[nodiscard]] qp_state state() const { return state_; }
    [[nodiscard]] std::size_t outstanding() const
    {
        return requester_.outstanding();
    } // posted, not yet taken by next_completion
    [[nodiscard]] std::uint32_t inflight_packets() const { return requester_.inflight_packets(); }
    [[nodiscard]] duration smoothed_rtt() const { return requester_.rtt().smoothed(); } // zero before the first sample

    // Arrival of new payload at this end, by the arrival's own time stamps (*stall* in the reports).
    [[nodiscard]] const receive_progress &progress() const { return responder_.progress(); }
    void reset_progress() { responder_.reset_progress(); }

private:
    [[nodiscard]] std::optional<outgoing> next_answer();
    void follow(std::optional<completion_status> failure);

    qpn local_;
    path_group &paths_;
    mrc_selector own_selector_;
    mrc_selector reverse_selector_; // answers rotate by themselves: they lose no turn to congestion
    qp_counters counters_;
    requester requester_;
    responder responder_;
    qp_state state_ = qp_state::ready_to_send;
};

} // namespace mrc::protocol
