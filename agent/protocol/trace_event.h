// SPDX-License-Identifier: Apache-2.0
// What a queue pair, or a path, tells of what it does while somebody traces it: one event for each packet that leaves
// or arrives, each decision about a loss, each timer that ran out and each change of a state. docs/trace.md has them
// for readers; trace_sink.h takes them.
//
// kind    psn, ev                                    value
// send    of the packet                              bytes of payload
// probe   ev that it leaves on                       its number
// arrive  of the packet                              bytes of payload
// answer  SACK: cack, ev of what it answers;         SACK: bitmap;
//         NACK: of the packet; Transport ACK: psn    NACK: code; Transport ACK: messages completed
// sack    as of the answer that the peer sent        likewise
// nack    likewise                                   likewise
// ack     likewise                                   likewise
// loss    of the packet's latest transmission        ns since that
// timer   of the packet that was waited for          ns since it was sent
// path    ev                                         enum path_state
// state                                              enum qp_state
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/types.h"

namespace mrc::protocol
{

enum class trace_kind : std::uint8_t {
    none,
    send,   // a data packet leaves
    probe,  // a reliability probe leaves
    arrive, // a data packet, or a probe, has arrived
    answer, // a SACK, NACK or Transport ACK leaves
    sack,   // the peer's
    nack,   // likewise
    ack,    // Transport ACK or NAK, likewise
    loss,   // what is decided about a packet that is missing
    timer,  // a time has run out
    path,   // an EV's path is in another state
    state,  // the queue pair is in another state
};
inline constexpr auto trace_kind_names = std::to_array<std::string_view>({
    "none",
    "send",
    "probe",
    "arrive",
    "answer",
    "sack",
    "nack",
    "ack",
    "loss",
    "timer",
    "path",
    "state",
});
static_assert(trace_kind_names.size() == static_cast<std::size_t>(trace_kind::state) + 1);

enum class trace_reason : std::uint8_t {
    none,
    // send
    first, // transmission
    again, // it had been given up
    last,  // all is confirmed, but for the Transport ACK: the request's last packet asks for it
    // probe
    tail,      // on the path of the oldest packet, or of any that lives
    elsewhere, // beside that, on another plane
    clean,     // in the control class, for the round trip past the queues
    // arrive: enum class reception (receive/acceptance.h), in its order; and probes
    fresh,
    behind_refusal,
    no_memory,
    memory_busy,
    receives_taken,
    unexpected,
    marked,
    below_edge,
    beyond_window,
    out_of_reach,
    malformed,
    trimmed,
    trimmed_last_hop,
    trimmed_unanswered,
    probe,
    // answer
    sack,
    nack,
    ack, // Transport ACK; also of what arrives
    nak, // likewise
    // sack, nack, ack
    accepted,
    probe_answer,
    stale,    // says nothing new, or is of an earlier transmission
    rejected, // of what was never sent
    // loss
    same_ev,     // a packet that was sent later on the same EV has arrived
    age,         // older than its paths' skew explains
    count,       // so many packets have arrived out of order
    time_out,    // its time ran out, while later ones arrived; also of timers
    refused,     // its time ran out after the peer had refused it
    nacked,      // its payload was cut on the way
    path_silent, // its path or plane has fallen silent
    plane_down,  // its plane has no link any more, or does not reach the peer
    oldest,      // the peer is silent: the oldest packet is sent now and then
    withdrawn,   // it has arrived after all, before it was sent again
    // timer
    waits,       // time-out on a path that has not carried anything yet: it waits once more
    peer_silent, // time-out, and nothing that was sent later has arrived
    heard,       // the peer speaks again
    silence,     // the silent peer is asked
    late,        // the oldest packet is late by its age: its path is asked
    quiet,       // nothing was sent or heard for a while: the peer is asked
    gives_up,    // all retries have been made
    // path: enum class path_cause (paths/path_states.h), in its order but for `none`
    silent,
    losses,
    always_skip,
    calm,
    probes,
    deliveries,
    controller,
};
inline constexpr auto trace_reason_names = std::to_array<std::string_view>({
    "none",
    "first",
    "again",
    "last",
    "tail",
    "elsewhere",
    "clean",
    "fresh",
    "behind_refusal",
    "no_memory",
    "memory_busy",
    "receives_taken",
    "unexpected",
    "marked",
    "below_edge",
    "beyond_window",
    "out_of_reach",
    "malformed",
    "trimmed",
    "trimmed_last_hop",
    "trimmed_unanswered",
    "probe",
    "sack",
    "nack",
    "ack",
    "nak",
    "accepted",
    "probe_answer",
    "stale",
    "rejected",
    "same_ev",
    "age",
    "count",
    "time_out",
    "refused",
    "nacked",
    "path_silent",
    "plane_down",
    "oldest",
    "withdrawn",
    "waits",
    "peer_silent",
    "heard",
    "silence",
    "late",
    "quiet",
    "gives_up",
    "silent",
    "losses",
    "always_skip",
    "calm",
    "probes",
    "deliveries",
    "controller",
});
static_assert(trace_reason_names.size() == static_cast<std::size_t>(trace_reason::controller) + 1);

struct trace_event {
    trace_kind kind = trace_kind::none;
    trace_reason reason = trace_reason::none;
    instant at{};
    qpn local{}; // 0: of no queue pair
    qpn peer{};
    psn sequence{};
    ev entropy{};
    std::uint64_t value = 0;
    friend bool operator==(const trace_event &, const trace_event &) = default;
};

} // namespace mrc::protocol
