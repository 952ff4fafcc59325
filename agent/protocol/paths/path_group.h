// SPDX-License-Identifier: Apache-2.0
// All entropy values (EVs) toward one remote T0 and their health, shared by every QP that goes there: what one QP
// learns about a path, all know at once. One EV per path; path row = base + plane * uplinks + uplink % uplinks: a group
// may have fewer rows a plane than the fabric has uplinks, and its EVs name those that it uses (ev_profile.h).
//
// A path that is blamed (path_cause: silence, losses, the peer's wish) leaves use and is probed; a backup of its plane
// takes over. Probes answered in time, `successes` in a row, bring it back; after silence, packets delivered that were
// sent since do, too. SKIP (one lost turn) belongs to each QP's rotation: path_selector.h.
//
// Paths that fell silent together, their plane with them, come back together: one that is proved speaks for all, or 256
// paths would take 4 s of probes while the first of them carries the share of its plane. Those among them that are
// broken themselves are blamed again within a round trip, and being relapses are probed at longer intervals.
//
// Floors: no retirement leaves fewer than `min_active` active paths in use on usable planes, and loss alone never takes
// more than half of a plane's active paths: uniform loss is no path's fault. A path that a floor keeps is drawn as a
// GOOD one is, but it is not shown as one: whoever looks for the broken cable would look elsewhere.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/packet.h"
#include "protocol/paths/ev_profile.h"
#include "protocol/paths/path_evidence.h"
#include "protocol/paths/path_heartbeat.h"
#include "protocol/paths/path_prober.h"
#include "protocol/paths/plane_suspension.h"
#include "protocol/transition_table.h"
#include "protocol/types.h"

namespace mrc::protocol
{

enum class path_state : std::uint8_t {
    good,
    kept, // would be ASSUMED_BAD, but nothing better is left
    assumed_bad,
    denied,
};

enum class path_event : std::uint8_t {
    retire, // blamed, and no floor keeps it in use
    keep,   // blamed, but a floor does
    calm,   // not blamed for a second
    prove,  // it delivers again
    deny,   // by the controller
    allow,
};

inline constexpr auto path_transitions = [] {
    using from = path_state;
    using on = path_event;
    using to = path_state;
    return transition_table<path_state, path_event, 4, 6>{
        {from::good, on::retire, to::assumed_bad}, {from::good, on::keep, to::kept},
        {from::good, on::deny, to::denied},        {from::kept, on::retire, to::assumed_bad},
        {from::kept, on::keep, to::kept}, // for another second
        {from::kept, on::calm, to::good},          {from::kept, on::deny, to::denied},
        {from::assumed_bad, on::prove, to::good},  {from::assumed_bad, on::deny, to::denied},
        {from::denied, on::allow, to::good},
    };
}();

// What moved a path to its state.
enum class path_cause : std::uint8_t {
    none,        // it has been there from the beginning
    silence,     // packets or heartbeats unanswered, while other paths delivered
    loss,        // `loss_limit` of its last `loss_span` packets
    always_skip, // the peer asks for it: SACK m = ALWAYS_SKIP
    calm,        // none of these for a second
    probes,      // answered
    deliveries,  // of packets sent since it fell silent
    controller,
};

struct path_condition {
    path_state state = path_state::good;
    path_cause cause = path_cause::none;
    friend bool operator==(const path_condition &, const path_condition &) = default;
};

// Packets are sent on paths in these states.
[[nodiscard]] constexpr bool is_in_use(path_state state)
{
    return state == path_state::good || state == path_state::kept;
}

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
    unsigned id_part = 0; // of the ids of probes and heartbeats: groups that ask the same hosts have different ones
    std::uint64_t seed = 1;
};

class path_group
{
public:
    // `local`, and the planes on which there is a neighbour on the way there, outlive the group.
    path_group(const path_group_config &config, const local_ports &local, const plane_mask &linked = every_plane);
    path_group(const path_group &) = delete;
    path_group &operator=(const path_group &) = delete;

    [[nodiscard]] const local_ports &local() const { return *local_; }
    // Planes that this host can use now. Which of them a peer can be reached on is the peer's: port_status.h.
    [[nodiscard]] plane_mask usable() const
    {
        return local_->usable() & *linked_ & plane_mask{(1u << config_.planes) - 1};
    }
    // Planes with at least one active path in use, and not suspected: packets are sent there while there are any.
    [[nodiscard]] plane_mask good_planes() const
    {
        return plane_mask{good_planes_.bits() & ~suspension_.planes().bits()};
    }

    [[nodiscard]] unsigned planes() const { return config_.planes; }
    [[nodiscard]] unsigned uplinks() const { return config_.uplinks; }
    [[nodiscard]] unsigned size() const { return config_.planes * config_.uplinks; }
    [[nodiscard]] unsigned active_per_plane() const { return config_.active_per_plane; }
    [[nodiscard]] path_choice path(unsigned slot) const
    {
        return {path_index{config_.base.value + slot}, paths_[slot].entropy, paths_[slot].plane,
                static_cast<std::uint16_t>(slot)};
    }
    [[nodiscard]] path_state state(unsigned slot) const { return paths_[slot].state; }
    [[nodiscard]] path_condition condition(unsigned slot) const { return {paths_[slot].state, paths_[slot].cause}; }
    [[nodiscard]] bool in_use(unsigned slot) const { return is_in_use(paths_[slot].state); }
    // In use, and not waiting for its very first answer.
    [[nodiscard]] bool open(unsigned slot) const { return in_use(slot) && !evidence_.on_trial(slot); }
    [[nodiscard]] bool active(unsigned slot) const { return paths_[slot].active; }
    [[nodiscard]] const path_counters &counters(unsigned slot) const { return paths_[slot].counters; }
    // The slot that an EV of ours, reflected by the peer, names; nothing for an EV that we never used.
    [[nodiscard]] std::optional<std::uint16_t> slot_of(ev entropy) const
    {
        const unsigned plane = mrc_ev_plane(entropy.value);
        const unsigned uplink = mrc_ev_uplink(entropy.value);
        if (plane >= config_.planes)
            return std::nullopt;
        const unsigned row = uplink < config_.uplinks ? uplink : uplink % config_.uplinks;
        const unsigned slot = plane * config_.uplinks + row;
        if (entropy.value == 0 || (paths_[slot].entropy != entropy && paths_[slot].former != entropy))
            return std::nullopt;
        return static_cast<std::uint16_t>(slot);
    }
    // The slot of an arriving packet's path row; nothing for rows of other groups.
    [[nodiscard]] std::optional<std::uint16_t> slot_at(path_index index) const
    {
        const std::uint32_t row = index.value - config_.arrivals.value; // wraps far out of range below them
        if (config_.arrival_slots.empty())
            return row < size() ? std::optional{static_cast<std::uint16_t>(row)} : std::nullopt;
        const bool known = row < config_.arrival_slots.size() && config_.arrival_slots[row] != no_slot;
        return known ? std::optional{config_.arrival_slots[row]} : std::nullopt;
    }
    // The path at `position` of a plane's active set, 0 … active_per_plane - 1.
    [[nodiscard]] std::uint16_t active_slot(plane_index plane, unsigned position) const
    {
        return active_slots_[plane.value * config_.active_per_plane + position];
    }

    // Controller. A path without an EV stays DENIED.
    void deny(unsigned slot);
    void allow(unsigned slot);
    [[nodiscard]] bool exists(unsigned slot) const { return paths_[slot].entropy.value != 0; }
    // Other EVs while packets are under way, as many on each plane as before; `denied` are slots of theirs. A path that
    // stays keeps its health, whatever EV names it now: that of its cables. What was sent on an EV that is gone is
    // known by it until the path gets the next but one.
    void exchange(const std::vector<profile_entry> &universe, const std::vector<std::uint32_t> &denied);

    // What the QPs report.
    void on_sent(unsigned slot, bool retransmission)
    {
        path_counters &counters = paths_[slot].counters;
        ++counters.tx_packets;
        if (retransmission) {
            ++counters.retransmits;
            note_count(slot);
        }
        evidence_.on_sent(slot);
    }
    void on_delivered(unsigned slot, instant sent_at); // a packet sent then is known to have arrived
    void on_loss(unsigned slot, instant now);          // FIFO evidence: a later packet of this path arrived
    void on_always_skip(unsigned slot, instant now);
    // A packet sent at `sent_at` timed out, others delivered since, this path did not: retires it, and its whole plane
    // when nothing of the plane got through either. Not yet while none that was delivered elsewhere was sent later than
    // the silence began by more than `tolerance`: paths are known to lag by so much, and to deliver. Until then a plane
    // is suspected, and avoided (plane_suspension.h).
    void on_silence(unsigned slot, instant sent_at, instant now, duration tolerance = duration{0});
    // It is missing although later ones of other paths arrived. One such loss is weak evidence about the path:
    // `loss_limit` of them make it silence. But when several of a plane are missing, and nothing of it got through
    // since, the plane is suspected at once; with the same tolerance.
    void on_unanswered(unsigned slot, instant sent_at, instant now, duration tolerance = duration{0});
    // It is late, but not missing yet: when nothing of its plane gets through, the plane is suspected.
    void on_late(unsigned slot, instant sent_at, instant now);
    // Several such packets of the plane, all that were sent to the one host that sends there: it is silent.
    void on_plane_silence(unsigned slot, instant sent_at, instant now) { silence(slot, true, sent_at, now); }
    void on_arrival(path_index index) // anything from the peer: keeps the reverse planes fresh
    {
        ++arrivals_;
        if (const auto slot = slot_at(index))
            paths_[*slot].last_arrival = arrivals_;
    }

    [[nodiscard]] const path_evidence &evidence() const { return evidence_; }
    // Has a packet sent at or after `since` got through on the plane, to whatever host behind the T0?
    [[nodiscard]] bool plane_delivers(plane_index plane, instant since) const;
    // Counts retirements by silence: when it moves, packets in flight on silenced paths are to be sent again.
    [[nodiscard]] std::uint32_t silence_generation() const { return silence_generation_; }
    [[nodiscard]] bool silenced(unsigned slot) const { return paths_[slot].silenced; }
    // May answers go there? Nobody acknowledges them: what was asked of the path last must not have been missed.
    [[nodiscard]] bool carries_answers(unsigned slot) const { return in_use(slot) && !heartbeat_.missed(slot); }
    // Does traffic from there still reach us by this path's links? Answers take such paths: nobody acknowledges them,
    // so what the other side has left, or cannot use, is all that tells of a dead one (reverse EVs, protocol.md
    // §4.4).
    [[nodiscard]] bool heard_on(unsigned slot) const
    {
        return arrivals_ - paths_[slot].last_arrival <= reverse_patience * size() + 64;
    }

    // Traffic that reports nothing (ordinary sockets, answers of queue pairs) uses these paths, until then at least:
    // GOOD paths are asked too.
    void watch(instant until) { heartbeat_.watch(until); }
    // Queue pairs do, which may be idle: their paths are asked now and then, for their states to be known.
    void watch_idle(instant until) { heartbeat_.watch_idle(until); }
    // Probes of ASSUMED_BAD paths, and of GOOD ones while they are watched: endpoint EV probes, to be sent to any peer
    // host behind this group; of GOOD ones on planes only on which such a host can be reached. One that is not answered
    // is to be repeated to another host, if there is one: a host's link is no path's fault.
    [[nodiscard]] std::optional<outgoing> next_packet(instant now, plane_mask reachable = plane_mask{0xFF});
    // False for an answer that nobody waits for.
    bool on_packet(const endpoint_response_packet &response, const arrival &how);
    [[nodiscard]] instant next_deadline() const;

    // An EV probe of the path.
    [[nodiscard]] outgoing make_probe(unsigned slot, std::uint16_t request_id, instant now) const;

    // State changes, for the agent's maps and events: of each path that is not what was told last, once, from that to
    // what it is now, in the order in which they first changed. One that changed and changed back between two readings
    // is not told.
    [[nodiscard]] std::optional<path_transition> next_transition();
    // The same of counters: slots whose `retransmits` or `losses` have grown since they were told last, each once.
    [[nodiscard]] std::optional<std::uint16_t> next_counted()
    {
        const auto slot = counted_.take();
        if (slot)
            paths_[*slot].counted = false;
        return slot;
    }

private:
    // Rounds of the other side's rotation that a path may be missed in.
    static constexpr std::uint64_t reverse_patience = 8;
    // As long as a path that relapses may have to wait before it is in use again (D12).
    static constexpr duration kept_memory = std::chrono::seconds{1};

    struct path_record {
        ev entropy;
        ev former; // before the last exchange
        plane_index plane;
        path_state state = path_state::good;
        bool active = false;
        bool silenced = false;
        bool with_plane = false;                // silenced when its plane was
        bool changed = false;                   // is in changed_
        bool counted = false;                   // is in counted_
        path_state reported = path_state::good; // by next_transition()
        path_cause cause = path_cause::none;
        instant silent_since;            // when silenced: nothing sent from then on had got through
        instant suspected_since = never; // nothing sent from then on has got through, or it is out of date
        instant kept_until;              // when KEPT
        std::uint16_t position = 0;      // in the plane's active set, when active
        std::uint64_t last_arrival = 0;  // of the group's arrivals_
        path_counters counters;
    };
    struct slot_ring { // room for each slot once
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

    void note_count(unsigned slot)
    {
        if (!std::exchange(paths_[slot].counted, true))
            counted_.put(slot);
    }
    void count_loss(unsigned slot)
    {
        ++paths_[slot].counters.losses;
        note_count(slot);
    }
    [[nodiscard]] plane_index plane_at(unsigned slot) const { return paths_[slot].plane; }
    [[nodiscard]] unsigned good_on_usable_planes() const;
    [[nodiscard]] bool may_retire(unsigned slot, bool by_loss) const;
    [[nodiscard]] instant last_delivery(plane_index plane) const; // its sending time
    [[nodiscard]] bool plane_silent(plane_index plane, instant since) const;
    instant quiet_since(unsigned slot, instant sent_at);
    void judge_quiet(unsigned slot, bool whole_plane, instant since, instant now, duration tolerance);
    void suspend_plane(unsigned slot, instant since, instant now);
    [[nodiscard]] bool left_behind(unsigned slot, instant since, duration tolerance) const;
    void silence(unsigned slot, bool whole_plane, instant sent_at, instant now);
    void silence_plane(plane_index plane, instant sent_at, instant now);
    [[nodiscard]] std::optional<std::uint16_t> find_backup(unsigned slot) const;
    void count_good(plane_index plane, int by);
    bool step(unsigned slot, path_event event, path_cause cause);
    void find_substitute(unsigned slot);
    void take_place(unsigned newcomer, unsigned leaver);
    void blame(unsigned slot, path_cause cause, std::optional<instant> silent_since, instant now);
    void retire(unsigned slot, path_cause cause, std::optional<instant> silent_since, instant now);
    void keep(unsigned slot, path_cause cause, instant now);
    void forget_kept(instant now);
    void readmit(unsigned slot, path_event event, path_cause cause, std::optional<instant> now);
    void prove(unsigned slot, path_cause cause, instant now);
    void hear(unsigned slot, instant sent_at);
    [[nodiscard]] std::optional<outgoing> next_question(instant now, plane_mask reachable);
    [[nodiscard]] std::uint16_t next_to_ask(plane_index plane);
    [[nodiscard]] std::optional<outgoing> next_heartbeat(instant now, plane_mask reachable);

    path_group_config config_;
    const local_ports *local_;
    const plane_mask *linked_;
    std::vector<path_record> paths_;
    std::vector<std::uint16_t> active_slots_; // planes * active_per_plane
    std::array<std::uint16_t, max_planes> good_active_{};
    plane_mask good_planes_;                         // with at least one active path in use
    instant kept_deadline_ = never;                  // no KEPT path is GOOD again before
    std::array<std::uint8_t, max_planes> missing_{}; // on_unanswered since the plane's last delivery
    path_evidence evidence_;
    plane_suspension suspension_;
    path_prober prober_;
    path_heartbeat heartbeat_;
    std::uint64_t arrivals_ = 0;
    std::uint32_t silence_generation_ = 0;
    unsigned question_turn_ = 0; // position in a suspected plane's active set
    slot_ring changed_;
    slot_ring counted_;
};

} // namespace mrc::protocol
