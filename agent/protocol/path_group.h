// SPDX-License-Identifier: Apache-2.0
// All entropy values (EVs) toward one remote T0 and their health, shared by every QP that goes there: what one QP
// learns about a path, all know at once. One EV per path; path row = base + plane * uplinks + uplink.
//
// state        event                                                        next
// GOOD         silence: timed out while other paths delivered               ASSUMED_BAD, backup of the plane takes over
// GOOD         unanswered: `loss_limit` times, and the packet came through elsewhere at once
//                                                                           ASSUMED_BAD, the same
// GOOD         loss: `loss_limit` of its last `loss_span` packets           ASSUMED_BAD, the same
// GOOD         heartbeats unanswered while other paths answer               ASSUMED_BAD, as by silence
// GOOD         always_skip: SACK m = ALWAYS_SKIP                            ASSUMED_BAD, the same
// ASSUMED_BAD  `probe_successes` probes in a row answered in time           GOOD
// any          deny                                                         DENIED
// DENIED       allow                                                        GOOD
// Anything else changes nothing. SKIP (one lost turn) belongs to each QP's rotation: path_selector.h.
//
// Floors: no retirement leaves fewer than `min_active` GOOD active paths on usable planes, and loss alone never takes
// more than half of a plane's active paths: uniform loss is no path's fault.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/packet.h"
#include "protocol/path_evidence.h"
#include "protocol/path_heartbeat.h"
#include "protocol/path_prober.h"
#include "protocol/types.h"

namespace mrc::protocol
{

inline constexpr unsigned max_planes = 8; // the EV's plane field has 3 bits

enum class path_state : std::uint8_t {
    good,
    skip,
    assumed_bad,
    denied,
};

// One path as a draw returns it and as a transmission remembers it.
struct path_choice {
    path_index index;
    ev entropy;
    plane lane;
    std::uint16_t slot = 0; // position in the group: plane * uplinks + uplink
};

struct path_transition {
    path_index path;
    ev entropy;
    path_state from = path_state::good;
    path_state to = path_state::good;
};

struct path_counters {
    std::uint64_t tx_packets = 0;
    std::uint64_t retransmits = 0; // of tx_packets
    std::uint64_t losses = 0;      // sent here and inferred lost
};

struct path_group_config {
    unsigned planes = 1;           // 1…8
    unsigned uplinks = 1;          // per plane, 1…256
    path_index base;               // row of plane 0, uplink 0
    unsigned active_per_plane = 0; // the rest are backups; 0 = all active
    unsigned min_active = 1;       // ev_min_active
    unsigned loss_limit = 2;       // of loss_span: retired
    unsigned loss_span = 8;        // 1…32
    probe_config probes;
    heartbeat_config heartbeats;
    std::uint64_t seed = 1;
};

class path_group
{
public:
    // `local` is the mask of this host's usable ports, shared by all groups: one store loses a port.
    path_group(const path_group_config &config, const plane_mask &local);
    path_group(const path_group &) = delete;
    path_group &operator=(const path_group &) = delete;

    // Planes on which the peer says it can be reached; all at first.
    void set_peer_mask(plane_mask mask) { peer_ = mask & plane_mask{(1u << config_.planes) - 1}; }
    [[nodiscard]] plane_mask peer_mask() const { return peer_; }
    // Planes that both ends can use now.
    [[nodiscard]] plane_mask usable() const { return *local_ & peer_; }
    // Of these, the planes with at least one GOOD active path.
    [[nodiscard]] plane_mask healthy() const { return usable() & good_planes_; }

    [[nodiscard]] unsigned planes() const { return config_.planes; }
    [[nodiscard]] unsigned uplinks() const { return config_.uplinks; }
    [[nodiscard]] unsigned size() const { return config_.planes * config_.uplinks; }
    [[nodiscard]] unsigned active_per_plane() const { return config_.active_per_plane; }
    [[nodiscard]] path_choice path(unsigned slot) const;
    [[nodiscard]] path_state state(unsigned slot) const { return paths_[slot].state; }
    [[nodiscard]] bool active(unsigned slot) const { return paths_[slot].active; }
    [[nodiscard]] const path_counters &counters(unsigned slot) const { return paths_[slot].counters; }
    // The slot that an EV of ours, reflected by the peer, names; nothing for an EV that we never used.
    [[nodiscard]] std::optional<std::uint16_t> slot_of(ev entropy) const;
    // Of an arriving packet's path row, the plane; nothing for rows of other groups.
    [[nodiscard]] std::optional<plane> plane_of(path_index index) const;
    // The path at `position` of a plane's active set, 0 … active_per_plane - 1.
    [[nodiscard]] std::uint16_t active_slot(plane lane, unsigned position) const;
    [[nodiscard]] std::uint32_t good_active(plane lane) const { return good_active_[lane.value]; }

    // Controller.
    void deny(unsigned slot);
    void allow(unsigned slot);

    // What the QPs report.
    void on_sent(unsigned slot, instant at, bool retransmission);
    void on_delivered(unsigned slot, instant sent_at); // a packet sent then is known to have arrived
    void on_late_delivery(unsigned slot);              // one whose sending time is not known any more
    void on_loss(unsigned slot, instant now);          // FIFO evidence: a later packet of this path arrived
    void on_always_skip(unsigned slot, instant now);
    // A packet sent at `sent_at` timed out, others delivered since, this path did not: retires it, and its whole plane
    // when nothing of the plane got through either.
    void on_silence(unsigned slot, instant sent_at, instant now);
    // The same with nothing else in flight, but the packet got through at once on another path. One such loss is weak
    // evidence; `loss_limit` of them make it silence.
    void on_unanswered(unsigned slot, instant sent_at, instant now);
    void on_arrival(path_index index); // anything from the peer: keeps the reverse planes fresh

    [[nodiscard]] const path_evidence &evidence() const { return evidence_; }
    // Counts retirements by silence: when it moves, packets in flight on silenced paths are to be sent again.
    [[nodiscard]] std::uint32_t silence_generation() const { return silence_generation_; }
    [[nodiscard]] bool silenced(unsigned slot) const { return paths_[slot].silenced; }
    // Does the peer's traffic still reach us on this plane? Answers prefer the planes that live.
    [[nodiscard]] bool reverse_alive(plane lane) const;

    // Traffic that reports nothing (ordinary sockets) uses these paths, until then at least: GOOD paths are asked too.
    void watch(instant until) { heartbeat_.watch(until); }
    // Probes of ASSUMED_BAD paths, and of GOOD ones while they are watched: endpoint EV probes, to be sent to any peer
    // host behind this group.
    [[nodiscard]] std::optional<outgoing> next_packet(instant now);
    void on_packet(const endpoint_response_packet &response, const arrival &how);
    [[nodiscard]] instant next_deadline() const;

    // State changes in order, for the agent's maps and events. When the ring overflowed, lost_transitions() moves and
    // the reader takes all states anew.
    [[nodiscard]] std::optional<path_transition> next_transition();
    [[nodiscard]] std::uint64_t lost_transitions() const { return transitions_.lost; }

private:
    struct path_record {
        ev entropy;
        path_state state = path_state::good;
        bool active = false;
        bool silenced = false;
        std::uint16_t position = 0; // in the plane's active set, when active
        path_counters counters;
    };
    struct transition_ring {
        static constexpr std::size_t capacity = 256;
        std::array<path_transition, capacity> entries;
        std::uint64_t head = 0;
        std::uint64_t tail = 0;
        std::uint64_t lost = 0;
    };

    [[nodiscard]] plane plane_at(unsigned slot) const;
    [[nodiscard]] unsigned good_on_usable_planes() const;
    [[nodiscard]] bool may_retire(unsigned slot, bool by_loss) const;
    [[nodiscard]] std::optional<std::uint16_t> find_backup(unsigned slot) const;
    void count_good(plane lane, int by);
    void move(unsigned slot, path_state to);
    void leave(unsigned slot, path_state to);
    void take_place(unsigned newcomer, unsigned leaver);
    void retire(unsigned slot, bool by_silence, instant now);
    void readmit(unsigned slot, std::optional<instant> now);
    [[nodiscard]] std::optional<outgoing> next_heartbeat(instant now);
    [[nodiscard]] outgoing make_probe(unsigned slot, std::uint16_t request_id, instant now) const;

    path_group_config config_;
    const plane_mask *local_;
    plane_mask peer_;
    std::vector<path_record> paths_;
    std::vector<std::uint16_t> active_slots_; // planes * active_per_plane
    std::array<std::uint16_t, max_planes> good_active_{};
    plane_mask good_planes_; // with at least one GOOD active path
    path_evidence evidence_;
    path_prober prober_;
    path_heartbeat heartbeat_;
    std::array<std::uint64_t, max_planes> last_arrival_{};
    std::uint64_t arrivals_ = 0;
    std::uint32_t silence_generation_ = 0;
    transition_ring transitions_;
};

} // namespace mrc::protocol
