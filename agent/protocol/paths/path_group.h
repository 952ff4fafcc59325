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

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/packet.h"
#include "protocol/paths/active_paths.h"
#include "protocol/paths/answer_paths.h"
#include "protocol/paths/attention.h"
#include "protocol/paths/path_group_state.h"
#include "protocol/types.h"

namespace mrc::protocol
{

class path_group
{
public:
    // `local`, and the planes on which there is a neighbour on the way there, outlive the group.
    path_group(const path_group_config &config, const local_ports &local, const plane_mask &linked = every_plane);
    path_group(const path_group &) = delete;
    path_group &operator=(const path_group &) = delete;

    [[nodiscard]] const local_ports &local() const { return *state_.local; }
    // Planes that this host can use now. Which of them a peer can be reached on is the peer's: port_status.h.
    [[nodiscard]] plane_mask usable() const { return state_.usable(); }
    // Planes with at least one active path in use, and not suspected: packets are sent there while there are any.
    [[nodiscard]] plane_mask good_planes() const { return protocol::good_planes(state_); }

    [[nodiscard]] unsigned planes() const { return state_.config.planes; }
    [[nodiscard]] unsigned uplinks() const { return state_.config.uplinks; }
    [[nodiscard]] unsigned size() const { return state_.size(); }
    [[nodiscard]] unsigned active_per_plane() const { return state_.config.active_per_plane; }
    [[nodiscard]] path_choice path(unsigned slot) const { return state_.path(slot); }
    [[nodiscard]] path_state state(unsigned slot) const { return state_.paths[slot].state; }
    [[nodiscard]] path_condition condition(unsigned slot) const
    {
        return {state_.paths[slot].state, state_.paths[slot].cause};
    }
    [[nodiscard]] bool in_use(unsigned slot) const { return state_.in_use(slot); }
    // In use, and not waiting for its very first answer.
    [[nodiscard]] bool open(unsigned slot) const { return in_use(slot) && !state_.evidence.on_trial(slot); }
    [[nodiscard]] bool active(unsigned slot) const { return state_.paths[slot].active; }
    [[nodiscard]] const path_counters &counters(unsigned slot) const { return state_.paths[slot].counters; }
    // The slot that an EV of ours, reflected by the peer, names; nothing for an EV that we never used.
    [[nodiscard]] std::optional<std::uint16_t> slot_of(ev entropy) const
    {
        const unsigned plane = mrc_ev_plane(entropy.value);
        const unsigned uplink = mrc_ev_uplink(entropy.value);
        if (plane >= state_.config.planes)
            return std::nullopt;
        const unsigned row = uplink < state_.config.uplinks ? uplink : uplink % state_.config.uplinks;
        const unsigned slot = plane * state_.config.uplinks + row;
        if (entropy.value == 0 || (state_.paths[slot].entropy != entropy && state_.paths[slot].former != entropy))
            return std::nullopt;
        return static_cast<std::uint16_t>(slot);
    }
    // The slot of an arriving packet's path row; nothing for rows of other groups.
    [[nodiscard]] std::optional<std::uint16_t> slot_at(path_index index) const { return state_.slot_at(index); }
    // The path at `position` of a plane's active set, 0 … active_per_plane - 1.
    [[nodiscard]] std::uint16_t active_slot(plane_index plane, unsigned position) const
    {
        return state_.active_slot(plane, position);
    }

    // Controller. A path without an EV stays DENIED.
    void deny(unsigned slot);
    void allow(unsigned slot);
    [[nodiscard]] bool exists(unsigned slot) const { return state_.exists(slot); }
    // Other EVs while packets are under way, as many on each plane as before; `denied` are slots of theirs. A path that
    // stays keeps its health, whatever EV names it now: that of its cables. What was sent on an EV that is gone is
    // known by it until the path gets the next but one.
    void exchange(const std::vector<profile_entry> &universe, const std::vector<std::uint32_t> &denied);

    // What the QPs report.
    void on_sent(unsigned slot, bool retransmission)
    {
        path_counters &counters = state_.paths[slot].counters;
        ++counters.tx_packets;
        if (retransmission) {
            ++counters.retransmits;
            state_.note_count(slot);
            call_();
        }
        state_.evidence.on_sent(slot);
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
    void on_plane_silence(unsigned slot, instant sent_at, instant now);

    [[nodiscard]] const path_evidence &evidence() const { return state_.evidence; }
    // Has a packet sent at or after `since` got through on the plane, to whatever host behind the T0?
    [[nodiscard]] bool plane_delivers(plane_index plane, instant since) const;
    // Counts retirements by silence: when it moves, packets in flight on silenced paths are to be sent again.
    [[nodiscard]] std::uint32_t silence_generation() const { return state_.silence_generation; }
    [[nodiscard]] bool silenced(unsigned slot) const { return state_.paths[slot].silenced; }
    // By which path an answer leaves to what came by `cause`; `usable`: planes that both ends can use now.
    // Nothing while all paths there are denied. (answer_paths.h)
    [[nodiscard]] std::optional<path_choice> answer_path(path_index cause, plane_mask usable)
    {
        return protocol::answer_path(state_, cause, usable);
    }
    // A queue pair has answered: for a while the reverse EVs are asked (reverse_evs.h), and the paths as below.
    void on_answer_sent(instant now)
    {
        state_.heartbeat.watch(now + answer_memory);
        state_.reverse.on_answer_sent(now);
        call_();
    }

    // Traffic that reports nothing (ordinary sockets, answers of queue pairs) uses these paths, until then at least:
    // GOOD paths are asked too.
    void watch(instant until)
    {
        state_.heartbeat.watch(until);
        call_();
    }
    // Queue pairs do, which may be idle: their paths are asked now and then, for their states to be known.
    void watch_idle(instant until)
    {
        state_.heartbeat.watch_idle(until);
        call_();
    }
    // Probes of ASSUMED_BAD paths, and of GOOD ones while they are watched: endpoint EV probes, to be sent to any peer
    // host behind this group; of GOOD ones on planes only on which such a host can be reached. One that is not answered
    // is to be repeated to another host, if there is one: a host's link is no path's fault.
    [[nodiscard]] std::optional<outgoing> next_packet(instant now, plane_mask reachable = every_plane);
    // False for an answer that nobody waits for.
    bool on_packet(const endpoint_response_packet &response, const arrival &how);
    [[nodiscard]] instant next_deadline() const;
    // Who is called when anything but next_packet() may have brought the deadline forward, changed a state or counted.
    void attend(attention *by) { call_.attend(by); }

    // An EV probe of the path.
    [[nodiscard]] outgoing make_probe(unsigned slot, std::uint16_t request_id, instant now) const;

    // State changes, for the agent's maps and events: of each path that is not what was told last, once, from that to
    // what it is now, in the order in which they first changed. One that changed and changed back between two readings
    // is not told.
    [[nodiscard]] std::optional<path_transition> next_transition();
    // The same of counters: slots whose `retransmits` or `losses` have grown since they were told last, each once.
    [[nodiscard]] std::optional<std::uint16_t> next_counted()
    {
        const auto slot = state_.counted.take();
        if (slot)
            state_.paths[*slot].counted = false;
        return slot;
    }
    // By how much the slot's counters have grown since they were last asked for.
    [[nodiscard]] path_counters take_growth(unsigned slot)
    {
        path_record &path = state_.paths[slot];
        const path_counters before = std::exchange(path.told, path.counters);
        return {.tx_packets = path.told.tx_packets - before.tx_packets,
                .retransmits = path.told.retransmits - before.retransmits,
                .losses = path.told.losses - before.losses};
    }

private:
    static constexpr duration answer_memory = std::chrono::milliseconds{200};

    path_group_state state_;
    attention_caller call_;
};

} // namespace mrc::protocol
