// SPDX-License-Identifier: Apache-2.0
// What may happen to frames on a path, and how often it did: tests must know that their faults took place.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "protocol/packet.h"
#include "protocol/random_source.h"
#include "protocol/types.h"

namespace mrc::sim
{

using protocol::duration;
using protocol::instant;

enum class fault : std::uint8_t {
    loss,
    flap,           // swallowed on a path that is out for a while
    plane_out,      // on a plane
    all_planes_out, // on all of them
    host_link_out,  // on the link between one host and the leaf, either way or both
    dead_path,      // on a path that never comes back
    one_way_death,  // the same, or a whole plane, in one direction only
    port_down,      // at a port without a link
    reorder,        // overtaken by a later frame of its path
    duplicate,
    corruption, // found by the ICRC, or by what else the codec checks
    congestion, // CE
    trim,
    trim_last_hop,
    garbled_trim, // a trimmed packet, with a wrong header field besides: it has no ICRC
    pause,        // a host off its CPU while work waited
    stall,        // the same, as on a real host (agent/sim/worker_model.h)
    ring_full,    // the receive ring of a port could hold no more
    full_batch,   // a round ended with frames unread
    full_round,   // … or with packets unsent
    backlog_mark, // a frame had waited for longer than its queue pair's mark: the sender is told to slow down
    busy_memory,
    port_change,
    drained_port,
};
inline constexpr std::array<std::string_view, 24> fault_names{
    "loss",          "flap",           "plane out",    "all out",     "host link out", "EV death",
    "one-way death", "port down",      "reordering",   "duplication", "corruption",    "CE",
    "trim",          "trim, last hop", "garbled trim", "host pause",  "host stall",    "ring full",
    "full batch",    "full round",     "backlog mark", "busy memory", "port event",    "drained port"};
using fault_counts = std::array<std::uint64_t, fault_names.size()>;

struct interval {
    instant from;
    instant to;
    [[nodiscard]] bool holds(instant at) const { return from <= at && at < to; }
};

struct outage {
    instant from;
    instant to;
    fault kind = fault::flap;
    [[nodiscard]] bool holds(instant at) const { return from <= at && at < to; }
};

// One direction of one path. Probabilities are per frame.
struct path_model {
    duration delay = std::chrono::microseconds{20};
    duration jitter{0}; // uniform, without overtaking
    double loss = 0;
    double overtake = 0; // held back by up to five delays, so that later packets overtake it
    double duplicate = 0;
    double corrupt = 0;
    double congested = 0;
    double trimmed = 0;  // data in a class that may be trimmed
    double last_hop = 0; // of the trimmed
    std::vector<outage> outages;
};

// A frame that has arrived. Payload is not copied: what was posted stays as it is until the end.
struct arrived_frame {
    protocol::packet content;
    std::span<const std::byte> payload;
    unsigned source = 0; // host
    protocol::arrival how;
};

// Flips one bit of a trimmed packet's header, anywhere but in what led it to its QP.
void garble(protocol::data_packet &data, protocol::random_source &random);

} // namespace mrc::sim
