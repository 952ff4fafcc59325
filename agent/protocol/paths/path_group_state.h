// SPDX-License-Identifier: Apache-2.0
// What a path group (path_group.h) remembers. What it does are functions over this state, one header per idea, with the
// time as an argument:
//
// active_paths.h     which paths of a plane are drawn; who replaces whom
// path_retirement.h  a path leaves use, or is kept by a floor; it comes back; the controller's wishes
// path_silence.h     nothing gets through on a path, or on its plane
// path_questions.h   what is asked of paths, and what the answers say
// answer_paths.h     by which path an answer leaves
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/paths/ev_profile.h"
#include "protocol/paths/path_evidence.h"
#include "protocol/paths/path_heartbeat.h"
#include "protocol/paths/path_prober.h"
#include "protocol/paths/path_states.h"
#include "protocol/paths/plane_suspension.h"
#include "protocol/paths/reverse_evs.h"
#include "protocol/trace_sink.h"
#include "protocol/types.h"

namespace mrc::protocol
{

// One path as a draw returns it and as a transmission remembers it.
struct path_choice {
    path_index index;
    ev entropy;
    plane_index plane;
    std::uint16_t slot = 0; // position in the group: plane * uplinks + uplink
};

struct path_transition {
    path_index path;
    ev entropy;
    path_state from = path_state::good;
    path_state to = path_state::good;
    path_cause cause = path_cause::none; // of the last change
};

struct path_counters {
    std::uint64_t tx_packets = 0;
    std::uint64_t retransmits = 0; // of tx_packets
    std::uint64_t losses = 0;      // sent here and inferred lost
};

inline constexpr std::uint16_t no_slot = UINT16_MAX;

struct path_group_config {
    unsigned planes = 1;  // 1…8
    unsigned uplinks = 1; // rows per plane, 1…256
    path_index base;      // row of plane 0, uplink 0
    path_index arrivals;  // the same, of the rows by which arriving packets name these paths; 0: base
    // By row from `arrivals` on, the slot of the same path here, no_slot where there is none; empty: they are the same.
    std::vector<std::uint16_t> arrival_slots;
    unsigned active_per_plane = 0; // the rest are backups; 0 = all active
    unsigned min_active = 1;       // ev_min_active
    unsigned ev_bits = 32;         // 16 when inner packets are IPv4
    // The EVs that exist (expand_profile), at most one per path and as many on each plane; empty: one for every path.
    std::vector<profile_entry> universe;
    unsigned loss_limit = 2; // of loss_span: retired
    unsigned loss_span = 8;  // 1…32
    probe_config probes;
    heartbeat_config heartbeats;
    reverse_config reverse;
    unsigned id_part = 0; // of the ids of probes and heartbeats: groups that ask the same hosts have different ones
    asker who{};          // likewise, of groups of the same rows
    std::uint64_t seed = 1;
    trace_sink *trace = nullptr; // outlives the group; null: nobody traces it
};

struct path_record {
    ev entropy;
    ev former; // before the last exchange
    plane_index plane;
    path_state state = path_state::denied;
    bool active = false;
    bool silenced = false;
    bool with_plane = false;                  // silenced when its plane was
    bool changed = false;                     // is in path_group_state::changed
    bool counted = false;                     // is in path_group_state::counted
    path_state reported = path_state::denied; // by next_transition()
    path_cause cause = path_cause::none;
    instant silent_since;            // when silenced: nothing sent from then on had got through
    instant suspected_since = never; // nothing sent from then on has got through, or it is out of date
    instant kept_until;              // when KEPT
    std::uint16_t position = 0;      // in the plane's active set, when active
    path_counters counters;
    path_counters told; // of them, by take_growth()
};

// What is known of a plane's deliveries.
struct plane_evidence {
    instant delivered = instant::min(); // the latest sending time of what is known to have got through
    std::uint16_t slot = 0;             // of the path that it took
    std::uint8_t missing = 0;           // packets given up since
};

// Slots, each once, in the order in which they came.
struct slot_ring {
    explicit slot_ring(std::size_t size) : slots(size) {}
    void put(unsigned slot) { slots[(head + count++) % slots.size()] = static_cast<std::uint16_t>(slot); }
    std::optional<std::uint16_t> take()
    {
        if (count == 0)
            return std::nullopt;
        const std::uint16_t slot = slots[head];
        head = (head + 1) % slots.size();
        --count;
        return slot;
    }

    std::vector<std::uint16_t> slots;
    std::size_t head = 0;
    std::size_t count = 0;
};

struct path_group_state {
    path_group_state(const path_group_config &config, const local_ports &local, const plane_mask &linked);

    path_group_config config;
    const local_ports *local;
    const plane_mask *linked;

    // Paths by slot, and of each plane those that are drawn.
    std::vector<path_record> paths;
    std::vector<std::uint16_t> active_slots; // planes * active_per_plane
    std::array<std::uint16_t, max_planes> good_active{};
    plane_mask good_planes;        // with at least one active path in use
    instant kept_deadline = never; // no KEPT path is GOOD again before
    slot_ring changed;             // since it was told last
    slot_ring counted;             // likewise, of counters

    // What is known of deliveries.
    path_evidence evidence;
    std::array<plane_evidence, max_planes> planes{};
    std::uint32_t silence_generation = 0;

    // What is asked.
    plane_suspension suspension;
    path_prober prober;
    path_heartbeat heartbeat;
    unsigned question_turn = 0; // position in a suspected plane's active set
    reverse_evs reverse;
    unsigned answer_turn = 0; // of planes, for answers that cannot take that of their cause

    [[nodiscard]] unsigned size() const { return config.planes * config.uplinks; }
    [[nodiscard]] plane_index plane_at(unsigned slot) const { return paths[slot].plane; }
    [[nodiscard]] unsigned first_of(plane_index plane) const { return plane.value * config.uplinks; }
    [[nodiscard]] plane_mask usable() const
    {
        return local->usable() & *linked & plane_mask{(1u << config.planes) - 1};
    }
    [[nodiscard]] bool in_use(unsigned slot) const { return is_in_use(paths[slot].state); }
    [[nodiscard]] path_choice path(unsigned slot) const
    {
        return {path_index{config.base.value + slot}, paths[slot].entropy, paths[slot].plane,
                static_cast<std::uint16_t>(slot)};
    }
    // May answers go there? Nobody acknowledges them: what was asked of the path last must not have been missed.
    [[nodiscard]] bool carries_answers(unsigned slot) const { return in_use(slot) && !heartbeat.missed(slot); }
    // The slot of an arriving packet's path row; nothing for rows of other groups.
    [[nodiscard]] std::optional<std::uint16_t> slot_at(path_index index) const
    {
        const std::uint32_t row = index.value - config.arrivals.value; // wraps far out of range below them
        if (config.arrival_slots.empty())
            return row < size() ? std::optional{static_cast<std::uint16_t>(row)} : std::nullopt;
        const bool known = row < config.arrival_slots.size() && config.arrival_slots[row] != no_slot;
        return known ? std::optional{config.arrival_slots[row]} : std::nullopt;
    }
    void note_count(unsigned slot)
    {
        if (!std::exchange(paths[slot].counted, true))
            counted.put(slot);
    }
    void count_loss(unsigned slot)
    {
        ++paths[slot].counters.losses;
        note_count(slot);
    }
    [[nodiscard]] bool exists(unsigned slot) const { return paths[slot].entropy.value != 0; }
    // The path at `position` of a plane's active set, 0 … active_per_plane - 1.
    [[nodiscard]] std::uint16_t active_slot(plane_index plane, unsigned position) const
    {
        return active_slots[plane.value * config.active_per_plane + position];
    }
};

} // namespace mrc::protocol
