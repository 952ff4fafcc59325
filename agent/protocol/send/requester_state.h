// SPDX-License-Identifier: Apache-2.0
// The sending half of a QP: everything that it remembers. What it does are functions over this state, one header per
// idea, each with the time as an argument:
//
// next_packet.h     what leaves next
// segmentation.h    how a WRITE becomes packets
// acks.h            what the peer says: SACK, NACK, Transport ACK
// delivery.h        what is known to have arrived
// loss_inference.h  what one SACK shows to be lost
// retransmission.h  what is to be sent again, and why
// path_blame.h      what a loss says about its path
// timers.h          time-outs, tail probes, giving up
// silence.h         what to do while nothing comes back
// requester_trace.h what is told of it while somebody traces
//
// The life of one packet is in flight.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <expected>
#include <optional>

#include "protocol/congestion/congestion_control.h"
#include "protocol/packet.h"
#include "protocol/packet_number.h"
#include "protocol/paths/path_group.h"
#include "protocol/paths/path_selector.h"
#include "protocol/paths/path_skew.h"
#include "protocol/paths/peer_planes.h"
#include "protocol/paths/peer_silence.h"
#include "protocol/qp_config.h"
#include "protocol/receive/sack_bitmap.h"
#include "protocol/send/flight.h"
#include "protocol/send/loss_detector.h"
#include "protocol/send/packet_timers.h"
#include "protocol/send/retransmit_set.h"
#include "protocol/send/retry_policy.h"
#include "protocol/send/rtt_estimator.h"
#include "protocol/send/send_queue.h"
#include "protocol/send/sleek.h"
#include "protocol/send/tail_probe.h"
#include "protocol/trace_sink.h"

namespace mrc::protocol
{

// The way to the peer: paths to its T0, the ports that it reports, and what its QPs find out. May this QP suspect
// planes on behalf of all?
struct route {
    path_group &paths;
    const plane_mask &peer_ports;
    peer_planes &peer;
    bool suspects_planes = false;

    // Planes on which the peer can be reached, whatever this end's ports do.
    [[nodiscard]] plane_mask reach() const { return peer_ports & plane_mask{~peer.suspected().bits()}; }
    // Planes that both ends can use now.
    [[nodiscard]] plane_mask usable() const { return paths.usable() & reach(); }
    // Planes whose packets in flight may arrive: a port that merely drains has not lost what it sent.
    [[nodiscard]] plane_mask carrying() const { return paths.local().up & reach(); }
};

struct requester_state {
    requester_state(const qp_config &config, const route &way, sack_proofs &proofs, path_selector &selector,
                    congestion_control &control, qp_counters &counters, slab_pool *pool = nullptr,
                    trace_sink *trace = nullptr);

    // What it works with.
    qp_config config;
    route way;
    path_selector &selector;
    congestion_control &control;
    qp_counters &counters;
    trace_sink &trace;

    // Requests, and the packets that they become.
    psn_space space;
    send_queue queue;
    packet_number next = 0;                   // next new packet
    std::uint32_t window;                     // PSNs that the peer takes beyond cack
    bool draining = false;                    // SQD: no request begins
    std::optional<completion_status> failure; // why the QP has to fail, once something made it so

    // Packets under way.
    flight packets;
    sack_bitmap delivered;
    retransmit_set lost;
    packet_timers timers;
    packet_number room_end = 0; // there is memory for the packets below it
    std::uint64_t order = 0;    // transmissions so far
    struct {
        std::uint32_t packets = 0;
        std::uint64_t charged_bytes = 0; // in the congestion window
        std::uint64_t silent_bytes = 0;  // flew into silence
    } flying;
    std::uint64_t credited_bytes = 0; // that Transport ACKs confirmed since the last SACK

    // How losses are inferred.
    loss_detector same_path;
    path_skew skew;
    sleek out_of_order;
    std::uint64_t blame_floor = 0; // transmissions up to this order say nothing about their paths

    // Waiting for the peer.
    rtt_estimator rtt;
    retry_policy retry;
    peer_silence silence;
    tail_probe tail;
    instant progress_at;              // cack or a Transport ACK advanced, or the flight began; later by standstills
    instant looked_at;                // by this host, see timers.h
    instant heard_at;                 // anything from the peer's QP, or the flight began
    instant reached = instant::min(); // the peer's QP: latest sending time of what is known to have arrived
    instant timer_floor;              // waits count from here at the earliest
    std::uint64_t asked_about = 0;    // transmission that was late by time, and whose path has been asked for that
    // To be sent besides data.
    struct {
        bool probe = false;
        bool probe_elsewhere = false; // after it, on another plane
        bool clean_probe = false;
        bool last_again = false;
    } due;
    plane_index probed; // by the first of the latest two probes

    // The paths as they were when last looked at.
    std::uint32_t silence_generation;
    plane_mask carrying;

    [[nodiscard]] packet_number edge() const { return delivered.edge(); }
    // max(T, srtt + 4 var, srtt + what the paths lag): what others overtook may be about to arrive (D14).
    [[nodiscard]] duration rto() const { return std::max(rtt.timeout(retry.shortest()), rtt.smoothed() + skew.lag()); }
    // It flies on a path that has not carried any packet yet, whose round trip may be many times those that are known:
    // for so many of them it is not missing.
    static constexpr int first_answer_rtts = 8;
    [[nodiscard]] bool untried(const transmission &sent, instant now) const
    {
        return !way.paths.evidence().carried(sent.slot) && now - sent.sent_at < first_answer_rtts * rtt.smoothed();
    }
    // Packets sent within such a time of each other may overtake each other: no evidence of order between them.
    [[nodiscard]] duration reordering_margin() const { return std::max(duration{0}, rto() - rtt.smoothed()) / 4; }
    // The peer owes an answer: a packet has not been confirmed, or a whole request has no Transport ACK.
    [[nodiscard]] bool waiting() const
    {
        if (edge() < next)
            return true;
        const send_request *oldest = queue.oldest_unacked();
        return oldest != nullptr && oldest->end() <= next;
    }
    // One short of the responder's window: sources differ by one on its upper edge (§2.3).
    [[nodiscard]] bool window_open() const { return next < queue.end() && next < edge() + window - 1; }
    // New payload that congestion window and PSNs let leave, in bytes; headers are not counted off.
    [[nodiscard]] std::uint64_t window_room() const
    {
        const packet_number psns = std::max<packet_number>(edge() + window - 1 - next, 0);
        const auto cwnd = static_cast<std::int64_t>(control.cwnd());
        const std::int64_t bytes = std::max<std::int64_t>(cwnd - control.inflight(), 0);
        return static_cast<std::uint64_t>(std::min(bytes, psns * std::int64_t{config.payload_bytes}));
    }
    // Something would leave, if window, paths and memory allowed it, or requests that may not begin yet (SQD, or
    // immediates that the peer has no room for).
    [[nodiscard]] bool wants_to_send() const
    {
        return due.probe || due.probe_elsewhere || due.clean_probe || due.last_again || !lost.empty() ||
               (window_open() && !silence.active());
    }
    // SQD: whatever had begun is complete.
    [[nodiscard]] bool drained() const { return draining && !waiting(); }
    // Memory for one more packet under way; false: the pool is empty, and the packet waits.
    [[nodiscard]] bool make_room() { return next < room_end || find_room(); }
    [[nodiscard]] bool find_room();
};

// What a transmission counts in congestion windows.
[[nodiscard]] inline std::uint32_t nominal(const transmission &sent)
{
    return nominal_bytes(sent.bytes);
}

// Before the first post.
void begin(requester_state &sender, const send_terms &terms);
[[nodiscard]] std::expected<void, post_error> post(requester_state &sender, const write_request &work);
// What it does not need for what is under way goes back to the pool. Answers that come later say nothing to it.
void rest(requester_state &sender);
// Tells the pool what will be asked for.
void announce(const requester_state &sender);
// Completes the oldest request with `status` and all others as flushed.
void fail(requester_state &sender, completion_status status);

} // namespace mrc::protocol
