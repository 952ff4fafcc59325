// SPDX-License-Identifier: Apache-2.0
// Port status between this host and one other (endpoint operation 0; decisions D9, D11): each end tells the other on
// which of its ports it can be reached. What the peer tells is one mask, consulted whenever a QP draws a path: however
// many QPs there are, losing a port of either end is one store.
//
// An update is repeated every `retry`, on another plane each time, until it is confirmed (update_transitions below).
// The last one goes by a plane on which the peer has said that it cannot be reached, if there is one: when each end has
// said so of the same plane, and the planes that are left die, neither could tell the other that its port is back.
// A peer that was told of fewer ports than all is told on, although no traffic goes there any more, until it has
// confirmed all of them or does not answer: it may send to this host, ordinary sockets for instance.
//
// being told, in this order
// more than `burst` updates at once, or `rate` a second     dropped, counted
// no known plane in its mask                                dropped, counted: it came from somewhere
// id not newer than that of an update just taken            answered, not taken: it was overtaken
// else                                                      answered, taken
// A peer that has told of fewer ports than all, to which no traffic goes, and which is not heard for `forget`, has gone
// or begun anew: it can be reached on all.
//
// Updates are never proof against forgery: only those from known peers may come here (protocol.md §9).
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/bounded_ring.h"
#include "protocol/packet.h"
#include "protocol/paths/attention.h"
#include "protocol/paths/path_group.h"
#include "protocol/rate_limit.h"
#include "protocol/request_ids.h"
#include "protocol/transition_table.h"
#include "protocol/types.h"

namespace mrc::protocol
{

enum class update_state : std::uint8_t { settled, announcing };
enum class update_event : std::uint8_t { announce, confirm, give_up, cease };

inline constexpr auto update_transitions = [] {
    using from = update_state;
    using on = update_event;
    using to = update_state;
    return transition_table<update_state, update_event, 2, 4>{
        // Traffic goes to the peer, and this host's usable ports changed, or `refresh` has passed (the peer may be a
        // new one): an update with a new id.
        {from::settled, on::announce, to::announcing},
        {from::announcing, on::announce, to::announcing}, // the ports changed again
        {from::announcing, on::confirm, to::settled},     // a response with the update's id
        {from::announcing, on::give_up, to::settled},     // `retry` has passed, `attempts` were sent
        {from::announcing, on::cease, to::settled},       // no traffic any more, or no port left
    };
}();

struct port_status_config {
    duration retry = std::chrono::milliseconds{1};
    duration refresh = std::chrono::seconds{1};
    duration forget = std::chrono::seconds{5};
    duration overtaken = std::chrono::milliseconds{100}; // how late an old update may be
    unsigned attempts = 3;
    unsigned burst = 16;     // updates taken at once
    unsigned rate = 20;      // and per second
    unsigned mask_base = 1;  // bit of port 1 (plane 0) in the mask: 1 as in the OCP API, 0 as IBTA counts
    std::uint16_t first = 0; // a random number: where the ids begin
};

struct port_status_counters {
    std::uint64_t updates_sent = 0; // repetitions included
    std::uint64_t confirmed = 0;
    std::uint64_t taken = 0;
    std::uint64_t overtaken = 0;
    std::uint64_t limited = 0;
    std::uint64_t rejected_empty = 0;
    std::uint64_t rejected_response = 0; // to no update of ours
};

class port_status
{
public:
    // `paths` lead to the peer, and know this host's ports; they outlive this object.
    port_status(const port_status_config &config, const path_group &paths);

    // Planes on which the peer says it can be reached: all at first. Changed by on_request(), next_packet() and
    // follow().
    [[nodiscard]] const plane_mask &peer_ports() const { return peer_; }
    // What the peer has told another worker of this host, which speaks for all; this one is never told or asked.
    void follow(plane_mask ports) { set_peer_ports(ports); }

    // Traffic goes to the peer, until then at least: it is told of changes, and reminded.
    void watch(instant until)
    {
        until_ = until > until_ ? until : until_;
        if (due_ == never)
            due_ = instant::min(); // in use again: told at once
        call_();
    }

    // Updates and responses to send.
    [[nodiscard]] std::optional<outgoing> next_packet(instant now);
    [[nodiscard]] instant next_deadline() const;
    // Who is called when anything but next_packet() may have brought the deadline forward. A change of this host's
    // ports is not told: whoever makes it has all asked for their next packet.
    void attend(attention *by) { call_.attend(by); }

    enum class outcome : std::uint8_t { taken, overtaken, limited, rejected };
    outcome on_request(const endpoint_request_packet &request, const arrival &how, instant now);
    // False when the response belongs to no update.
    bool on_response(const endpoint_response_packet &response);

    [[nodiscard]] const port_status_counters &counters() const { return counters_; }

    // An id for an update that somebody else sends to the peer: newer than all before, which is what the peer compares.
    [[nodiscard]] std::uint16_t issue_id()
    {
        last_id_ = port_status_ids.after(last_id_);
        return last_id_;
    }
    // As it stands in updates.
    [[nodiscard]] std::uint32_t wire_mask(plane_mask ports) const { return ports.bits() << config_.mask_base; }
    [[nodiscard]] const path_group &paths() const { return paths_; }
    // Where to answer a request: back on the path that it came on, or, when its EV means no path here (a peer may have
    // a layout of its own), on any that leads to the peer.
    [[nodiscard]] path_index path_for_answer(path_index came);

private:
    struct reply {
        std::uint16_t request_id = 0;
        std::uint16_t tx_timestamp = 0;
        ev entropy;
        path_index path;
    };

    [[nodiscard]] plane_mask planes_of(std::uint32_t mask) const;
    [[nodiscard]] instant forgotten_at() const; // what the peer told
    void set_peer_ports(plane_mask ports);
    [[nodiscard]] bool has_to_announce(instant now) const { return now < until_ || owes_; }
    // What the table does not know changes nothing.
    void step(update_event event) { update_ = update_transitions.next(update_, event).value_or(update_); }
    [[nodiscard]] std::optional<path_choice> next_path(plane_mask allowed);
    [[nodiscard]] std::optional<outgoing> send_update(instant now);
    [[nodiscard]] outgoing send_reply(const reply &to);

    port_status_config config_;
    const path_group &paths_;
    plane_mask all_;
    plane_mask peer_;

    // Telling.
    plane_mask announced_;
    std::uint16_t last_id_; // issued
    std::uint16_t id_;      // of the present update
    unsigned sent_ = 0;     // of the present update
    update_state update_ = update_state::settled;
    bool owes_ = false; // the peer was told of fewer ports than all
    unsigned turn_ = 0;
    instant due_ = never; // of the next repetition or refresh; never: nobody is told
    instant until_ = instant::min();

    // Being told.
    std::optional<std::uint16_t> taken_id_;
    instant taken_at_;
    rate_limit limit_;
    bounded_ring<reply, 8> replies_;

    port_status_counters counters_;
    attention_caller call_;
};

} // namespace mrc::protocol
