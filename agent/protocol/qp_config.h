// SPDX-License-Identifier: Apache-2.0
// What a queue pair is told, and what it tells: configuration, requests, completions, counters.
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/packet.h"
#include "protocol/qp_state.h"
#include "protocol/types.h"

namespace mrc::protocol
{

// Time-out and retries of one packet: T = 1.024 us * 2^timeout_exponent; `linear` retries after T each, then
// `exponential` more, each after twice the time. exponential = 25 never gives up (protocol.md §3.4).
struct retry_config {
    std::uint8_t timeout_exponent = 8; // 262 us; up to 24
    std::uint8_t linear = 7;           // up to 7
    std::uint8_t exponential = 14;     // up to 25 = infinite
};

struct qp_config {
    qpn local;
    qpn peer;
    psn first_send;
    psn first_receive;
    std::uint32_t payload_bytes = 1024; // per packet, 256…4096: every First and Middle packet has exactly this much
    // PSNs beyond cack, up to 32,640: what this end sends (API: mpr) and what it takes (mpr_dest). Each is at most what
    // the other end's counterpart says.
    std::uint32_t window_psns = 1024;
    std::uint32_t receive_window_psns = 1024;
    bool dynamic_mpr = false; // both ends: every SACK carries the receive window, which may change (§1.5)
    // Messages with immediate that are not acknowledged yet: sent (API: max_wimm), taken (max_wimm_dest).
    std::uint16_t max_wimm = 128;
    std::uint16_t receive_max_wimm = 128;
    std::uint32_t send_queue_depth = 128;
    std::uint32_t receive_queue_depth = 128;
    qp_state state = qp_state::ready_to_send; // to begin with; INIT and RTR as verbs have them
    bool service_time = false; // both ends: reflected time stamps are advanced by the time an answer waited
    retry_config retry;
    bool trim_nack = true;          // the peer answers trimmed packets: data may be trimmed
    bool answer_trimmed = true;     // answer the peer's trimmed packets
    bool nack_out_of_window = true; // answer packets beyond the window, at a limited rate; else drop them (D5)
    // A packet that waited longer in this host raises the receiver's penalty: host_backlog.h. 0: none does.
    duration backlog_mark{0};
    std::uint64_t seed = 1;
};

// What a requester learns only when it becomes ready to send (verbs' RTS).
struct send_terms {
    psn first;
    std::uint32_t window_psns = 1024; // at most the one that the QP was made with
    std::uint16_t max_wimm = 128;
    retry_config retry;
};

struct write_request {
    std::uint64_t id = 0;
    payload_source source; // up to 2^31 bytes
    std::uint64_t remote_va = 0;
    std::uint32_t rkey = 0;
    std::optional<std::uint32_t> immediate = std::nullopt; // WRITE_WITH_IMM: big-endian word read as host integer
    bool solicited = false; // with an immediate: the receiver's completion is a solicited event
    bool signaled = true;   // completes when it succeeds; failures always complete
};

enum class post_error : std::uint8_t {
    queue_full,
    too_long,
    wrong_state,
    no_immediates, // max_wimm is 0
    no_memory,     // the QP's pool is empty: later perhaps
};

enum class completion_status : std::uint8_t {
    success,
    remote_access_error,
    remote_operation_error,
    remote_invalid_request,
    retry_exceeded,
    flushed,
    local_protection_error,
};

struct completion {
    std::uint64_t id = 0;
    completion_status status = completion_status::success;
    std::uint64_t bytes = 0;
};

// A receive request taken by a message with immediate, after everything that the peer sent before it has arrived.
struct receive_completion {
    std::uint64_t id = 0;
    completion_status status = completion_status::success;
    std::uint32_t bytes = 0; // of the message
    std::uint32_t immediate = 0;
    bool solicited = false;
};

struct qp_counters {
    // responder
    std::uint64_t rx_packets = 0;       // data packets accepted, first copies
    std::uint64_t rx_bytes = 0;         // payload placed
    std::uint64_t rx_duplicates = 0;    // below the edge, or already marked
    std::uint64_t rx_out_of_window = 0; // beyond the PSN window, or too far behind
    std::uint64_t rx_refused = 0;       // refused by memory, or an invalid request
    std::uint64_t rx_trimmed = 0;
    std::uint64_t rx_malformed = 0;  // header fields that contradict each other
    std::uint64_t rx_congested = 0;  // data packets with CE
    std::uint64_t rx_busy = 0;       // not now: NACK NO_PKT_BUFFER (memory), NO_RESOURCE (places of receive requests)
    std::uint64_t rx_unexpected = 0; // new packets after this end had failed: NACK UNEXP_EVENT
    std::uint64_t rx_bad_immediate = 0; // more messages with immediate than negotiated, or one rqmsn twice
    std::uint64_t rx_no_receive = 0;    // an immediate found no receive request
    std::uint64_t rx_no_memory = 0;     // this end's pool was empty: NACK NO_BITMAP
    std::uint64_t rx_wrong_state = 0;   // packets before the QP was ready for them
    std::uint64_t sacks_sent = 0;
    std::uint64_t nacks_sent = 0;
    std::uint64_t acks_sent = 0;       // Transport ACK and NAK
    std::uint64_t control_dropped = 0; // answers that their bounded queue could not hold; the peer's timers recover
    // requester
    std::uint64_t tx_packets = 0; // data, retransmissions included
    std::uint64_t tx_bytes = 0;   // payload, first transmissions
    std::uint64_t retransmits = 0;
    std::uint64_t spurious = 0; // retransmissions whose original had arrived
    std::uint64_t timeouts = 0;
    std::uint64_t losses = 0;          // inferred by the same-EV rule
    std::uint64_t losses_by_age = 0;   // by age beyond the paths' skew
    std::uint64_t losses_by_sleek = 0; // by the count of packets out of order
    std::uint64_t silences = 0;        // times that the peer's QP fell silent
    std::uint64_t nacks = 0;
    std::uint64_t sacks_received = 0;
    std::uint64_t penalties = 0;       // of them, asked to slow down: the peer's host is behind
    std::uint64_t sacks_stale = 0;     // cack too far behind to be of use
    std::uint64_t sacks_rejected = 0;  // confirmed what was never sent
    std::uint64_t acks_rejected = 0;   // Transport ACK or NAK of what was never sent
    std::uint64_t nacks_rejected = 0;  // of what is not in the window
    std::uint64_t nacks_stale = 0;     // of what is not in flight any more, or of an earlier transmission
    std::uint64_t nacks_unknown = 0;   // with a reason that the specification does not name
    std::uint64_t acks_unknown = 0;    // AETH that is neither ACK nor NAK
    std::uint64_t probes_rejected = 0; // answers to probes that were not sent
    std::uint64_t acks_received = 0;
    std::uint64_t probes_sent = 0;
};

// Longest interval between two arrivals of new payload, by arrival time stamps.
struct receive_progress {
    std::optional<instant> last_arrival;
    duration longest_gap{0};
};

} // namespace mrc::protocol
