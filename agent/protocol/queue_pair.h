// SPDX-License-Identifier: Apache-2.0
// One queue pair: requester and responder behind the calls that a worker makes. Sans-IO: packets and `now` in, packets
// and deadlines out. Nothing is allocated after construction. What it remembers of packets under way it borrows
// (slab_pool.h): connected and at rest it is 2 KB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>

#include "protocol/congestion/congestion_control.h"
#include "protocol/memory_sink.h"
#include "protocol/packet.h"
#include "protocol/paths/mrc_selector.h"
#include "protocol/paths/path_group.h"
#include "protocol/paths/peer_planes.h"
#include "protocol/qp_config.h"
#include "protocol/receive/responder.h"
#include "protocol/send/requester_state.h"
#include "protocol/send/send_limit.h"
#include "protocol/types.h"

namespace mrc::protocol
{

// What a QP works with; all of it outlives the QP.
struct qp_surroundings {
    path_group &paths;
    memory_sink &memory;
    congestion_control &control;
    const plane_mask *peer_ports = nullptr; // planes on which the peer says it can be reached; null: all
    peer_planes *peer = nullptr;            // shared by all QPs to the peer; null: the QP suspects no plane by itself
    path_selector *selector = nullptr;      // null: the QP rotates by the MRC rule (mrc_selector.h)
    slab_pool *pool = nullptr;              // of the QP's thread; null: it has all that it can ever need from the start
    sack_proofs *proofs = nullptr;          // for as many slots as the group; QPs of a thread share it; null: its own
    trace_sink *trace = nullptr;            // null: nobody traces it
};

class queue_pair
{
public:
    queue_pair(const qp_config &config, const qp_surroundings &around);
    queue_pair(const queue_pair &) = delete;
    queue_pair &operator=(const queue_pair &) = delete;

    [[nodiscard]] std::expected<void, post_error> post_write(const write_request &request, instant now);

    // A packet whose inner source is this QP's peer and whose ICRC was right (or that was trimmed). `payload` holds
    // data_packet::payload_bytes bytes, none when trimmed.
    void on_packet(const packet &content, std::span<const std::byte> payload, const arrival &how, instant now);

    // What the memory sink held of this QP's packets has been written, all but the packets that were refused before:
    // memory_sink::place(). Before the QP is asked for anything else but on_packet().
    void settle();
    void refuse_held(packet_number number, std::size_t payload_bytes) { responder_.refuse_held(number, payload_bytes); }

    // A receive request, for one message with immediate; from INIT on.
    [[nodiscard]] std::expected<void, post_error> post_receive(std::uint64_t id);
    // In posting order. Requests that find the QP failed are flushed.
    [[nodiscard]] std::optional<receive_completion> next_receive_completion()
    {
        return responder_.next_receive_completion();
    }
    [[nodiscard]] bool has_receive_completion() const { return responder_.has_receive_completion(); }
    // Receive requests to be posted before the next packet is given to on_packet, so that none of its messages is
    // without one although there are some.
    [[nodiscard]] std::size_t receives_wanted()
    {
        return state_ == qp_state::reset || state_ == qp_state::error ? 0 : responder_.receives_wanted();
    }

    // INIT → RTR → RTS, SQD and back; false when the transition does not exist. There is no way to RESET but a new QP.
    [[nodiscard]] bool modify(qp_event event);
    // RTR → RTS, with what is known only now; false in any other state.
    [[nodiscard]] bool begin_sending(const send_terms &terms);
    // SQD: whatever had begun is complete.
    [[nodiscard]] bool drained() const { return requester_.drained(); }

    // Control first, then retransmissions (oldest first), then new data; nothing = nothing may be sent now.
    [[nodiscard]] std::optional<outgoing> next_packet(instant now);

    // About so many bytes of new payload the windows let leave now, of the path and of the peer.
    [[nodiscard]] std::uint64_t window_room() const { return requester_.window_room(); }

    void on_timer(instant now);
    [[nodiscard]] instant next_deadline() const;

    // On the pool's thread: it gets to know what will be asked for. Before the first packet.
    void announce() const;
    // For one more request: post_write does not fail for want of room or memory.
    [[nodiscard]] bool can_post() { return requester_.queue.make_room(); }
    // Nothing has happened for a while: whatever is not needed for what is under way goes back to the pool.
    void rest();

    // What keeps it from sending more; after next_packet() had nothing.
    [[nodiscard]] send_limit limit() { return sends() ? limit_of(requester_) : send_limit::nothing; }

    // Until a packet, a request, its deadline, or a change of the ways to the peer, no call will find anything to do.
    [[nodiscard]] bool only_waits() const
    {
        return !has_something_to_tell() && !(sends() && requester_.wants_to_send());
    }

    // Where it would, but for room in the congestion window: until there is some it waits, too.
    [[nodiscard]] std::optional<window_wish> waits_for_window()
    {
        return has_something_to_tell() || !sends() ? std::nullopt : protocol::waits_for_window(requester_);
    }

    // In posting order; unsignalled requests appear only when they fail.
    [[nodiscard]] std::optional<completion> next_completion();

    // Completes the oldest request with `status` and all others as flushed.
    void fail(completion_status status);

    [[nodiscard]] const qp_counters &counters() const { return counters_; }
    [[nodiscard]] qp_state state() const { return state_; }
    // What its first request that failed met with, once it is in ERROR; `flushed`: it was made to fail.
    [[nodiscard]] std::optional<completion_status> failure() const
    {
        return state_ == qp_state::error ? requester_.failure : std::nullopt;
    }
    // The Transport NAK (MRC_AETH_NAK_*) of the peer's request that made this end fail, if one did.
    [[nodiscard]] std::optional<std::uint8_t> receive_failure() const { return responder_.failure_syndrome(); }
    // Posted, not yet taken by next_completion.
    [[nodiscard]] std::size_t outstanding() const { return requester_.queue.outstanding(); }
    [[nodiscard]] std::size_t outstanding_receives() const { return responder_.outstanding_receives(); }
    [[nodiscard]] bool has_answer() const { return responder_.has_answer(); }
    [[nodiscard]] std::uint32_t inflight_packets() const { return requester_.flying.packets; }
    [[nodiscard]] std::uint64_t charged_bytes() const { return requester_.flying.charged_bytes; }
    [[nodiscard]] bool skips(std::uint16_t slot) const { return own_selector_.skipped(slot); } // it loses its next turn
    [[nodiscard]] const rtt_estimator &rtt() const { return requester_.rtt; }

    // Arrival of new payload at this end, by the arrival's own time stamps (*stall* in the reports).
    [[nodiscard]] const receive_progress &progress() const { return responder_.progress(); }
    void reset_progress() { responder_.reset_progress(); }

    // What SACKs tell the peer of this end: responder.h.
    void set_receive_penalty(std::uint8_t penalty) { responder_.set_penalty(penalty); }
    void set_receive_share(unsigned share) { responder_.set_share(share); }

private:
    [[nodiscard]] std::optional<outgoing> next_answer(instant now);
    // To the peer, or to the program.
    [[nodiscard]] bool has_something_to_tell() const
    {
        return responder_.has_answer() || responder_.has_receive_completion() || requester_.queue.has_completion();
    }
    [[nodiscard]] bool receives() const { return state_ != qp_state::reset && state_ != qp_state::init; }
    [[nodiscard]] bool sends() const
    {
        return state_ == qp_state::ready_to_send || state_ == qp_state::send_queue_drained;
    }
    void follow(std::optional<completion_status> failure);
    void trace_state() const;

    qpn local_;
    path_group &paths_;
    const plane_mask &peer_ports_;
    std::unique_ptr<peer_planes> own_peer_;   // unless the peer's QPs share one
    std::unique_ptr<sack_proofs> own_proofs_; // unless the group's QPs share them
    peer_planes &peer_;
    mrc_selector own_selector_;
    qp_counters counters_;
    requester_state requester_;
    responder responder_;
    qp_state state_;
};

} // namespace mrc::protocol
