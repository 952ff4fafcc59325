// SPDX-License-Identifier: Apache-2.0
// A host of the simulated network that, unlike mrc_host of agent/sim, has bytes in its memory: its memory, its ports
// and paths, its ends of the QPs, and what its worker and its application do in one turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "datapath/asked_hosts.h"
#include "datapath/fair_receive.h"
#include "datapath/timer_gate.h"
#include "protocol/congestion/congestion_control.h"
#include "protocol/memory_sink.h"
#include "protocol/paths/ev_profile.h"
#include "protocol/paths/path_group.h"
#include "protocol/paths/path_selector.h"
#include "protocol/paths/peer_planes.h"
#include "protocol/paths/port_status.h"
#include "protocol/queue_pair.h"
#include "protocol/random_source.h"
#include "protocol/slab_pool.h"
#include "sim/receive_ring.h"
#include "sim/worker_model.h"
#include "sim_faults.h"

namespace mrc::sim
{

struct network_config {
    unsigned planes = 4;
    unsigned uplinks = 2;
    unsigned evs_per_plane = 0; // that exist; 0: one for each path
    unsigned active_per_plane = 0;
    duration serialisation{3000}; // of one packet on one port
    bool port_status = false;     // the hosts tell each other of their ports
    bool third = false;           // another host beside the right one, of which the left one knows, too
    bool shared_planes = false;   // QPs share what they know of the planes to the other host
    bool encoded = false;         // every packet becomes bytes on its way, not only those that are damaged
    worker_model worker{};
    std::uint64_t seed = 1;
};

// The EVs of a host, of which some may name other paths with every seed.
[[nodiscard]] std::vector<protocol::profile_entry> make_profile(const network_config &network, std::uint64_t seed);

// Memory under one key; writes outside are refused as a registered region would.
class host_memory final : public protocol::memory_sink
{
public:
    static constexpr std::uint32_t key = 0x1234;
    static constexpr std::uint64_t base = 0x7000'0000'0000;

    host_memory(std::size_t bytes, std::uint64_t seed) : bytes_(bytes), random_{seed} {}
    std::expected<void, protocol::write_refusal> write(std::uint32_t rkey, std::uint64_t va,
                                                       std::span<const std::byte> payload) override;
    [[nodiscard]] std::span<std::byte> bytes() { return bytes_; }
    // Every second write is held until write_held(), at random.
    std::expected<protocol::placement, protocol::write_refusal> place(protocol::packet_number number,
                                                                      std::uint32_t rkey, std::uint64_t va,
                                                                      std::span<const std::byte> payload) override;
    void hold_some() { holds_some_ = true; }
    void write_held();
    // Every so many writes one finds the memory busy; 0: none.
    void busy_one_in(std::uint32_t writes) { busy_one_in_ = writes; }
    [[nodiscard]] std::uint64_t refused_busy() const { return refused_busy_; }

private:
    struct held_write {
        std::uint64_t va = 0;
        std::vector<std::byte> payload;
    };

    [[nodiscard]] std::expected<void, protocol::write_refusal> check(std::uint32_t rkey, std::uint64_t va,
                                                                     std::size_t bytes);
    void copy(std::uint64_t va, std::span<const std::byte> payload);

    std::vector<std::byte> bytes_;
    bool holds_some_ = false;
    std::vector<held_write> held_;
    protocol::random_source random_;
    std::uint32_t busy_one_in_ = 0;
    std::uint64_t refused_busy_ = 0;
};

// One end of a QP, and what its application got from it.
struct qp_end {
    qp_end(const protocol::qp_config &how, const protocol::qp_surroundings &around, unsigned to)
        : config{how}, qp{how, around}, remote{to}
    {
    }

    protocol::qp_config config;
    protocol::queue_pair qp;
    unsigned remote = 0; // host
    std::vector<protocol::completion> completions;
    std::vector<protocol::receive_completion> receives;
    std::uint64_t receives_posted = 0; // ids 0, 1, 2 …
    bool posts_receives = true;        // as many as fit, always
    bool follows = false;              // an end with the same numbers: packets of that one may still be on their way
    bool gone = false;                 // its process has died: the host does not know this queue pair any more
};

// Another host, as one knows it.
struct known_host {
    known_host(unsigned which, std::uint16_t first_update, const protocol::path_group &paths);

    unsigned index = 0;
    protocol::port_status status;
    protocol::peer_planes planes;
};

// The links between a host and the leaf, one per plane.
struct host_link {
    std::vector<outage> to_host;
    std::vector<outage> from_host;
};

struct host {
    // `others`: whom it speaks to. The network has to outlive it.
    host(const network_config &network, const std::vector<unsigned> &others, std::size_t memory_bytes,
         std::uint64_t seed);

    [[nodiscard]] protocol::queue_pair &qp() { return ends[0]->qp; }
    [[nodiscard]] std::vector<protocol::completion> &completions() { return ends[0]->completions; }
    [[nodiscard]] known_host &other(unsigned index);
    // Nothing is on its way through the timers of any QP.
    [[nodiscard]] instant next_deadline() const;
    // Of what it asks and tells other hosts.
    [[nodiscard]] instant next_question() const;

    // A turn of its worker: what it reads, all of it or a share.
    datapath::receive_result receive(instant now);
    [[nodiscard]] bool has_unread() const;
    [[nodiscard]] bool timers_may_run(bool more) { return timer_gate_.may_run(more); } // unread
    // What the application does: it takes completions and posts receive requests.
    void report();
    // The hosts that it speaks to are in use.
    void watch(instant now, bool port_status);
    // Whom to ask on the path of a probe of `paths`: its index.
    [[nodiscard]] unsigned ask(const protocol::outgoing &probe, instant now);

    protocol::slab_pool pool;
    protocol::local_ports ports;
    protocol::path_group paths;
    std::deque<known_host> others;
    datapath::asked_hosts asked; // whose answers judge the paths
    host_memory memory;
    std::vector<std::byte> source; // what post() sends
    std::vector<std::unique_ptr<protocol::congestion_control>> controls;
    std::vector<std::unique_ptr<protocol::path_selector>> selectors;
    std::vector<std::unique_ptr<qp_end>> ends;

    std::vector<path_model> out;       // by path slot
    std::vector<host_link> links;      // by plane
    std::vector<std::uint64_t> frames; // by plane, data packets
    std::vector<interval> off_cpu;
    instant wakes_at = protocol::never;              // earliest run in the event queue
    std::size_t first_turn = 0;                      // the QP that sends first
    bool dead = false;                               // answers nothing, not even probes
    std::uint8_t offered_mpr = 0;                    // Dynamic MPR that its SACKs offer, at most its own; 0: that
    std::uint64_t backlogged = 0;                    // frames that waited for longer than their QP's backlog_mark
    worker_time time;                                // that its rounds take
    std::vector<receive_ring<arrived_frame>> unread; // by plane; while off the CPU, too

private:
    void take(const arrived_frame &frame, instant now);
    [[nodiscard]] datapath::worker_peer peer_of(known_host &other);
    void receive_endpoint(const arrived_frame &frame, instant now);

    bool in_rounds_;
    datapath::timer_gate timer_gate_;
};

} // namespace mrc::sim
