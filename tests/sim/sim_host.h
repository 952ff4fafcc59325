// SPDX-License-Identifier: Apache-2.0
// A host of the simulated network that, unlike mrc_host of agent/sim, has bytes in its memory: its memory, its ports
// and paths, its ends of the QPs, and what its worker and its application do in one turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "protocol/congestion/congestion_control.h"
#include "protocol/memory_sink.h"
#include "protocol/paths/path_group.h"
#include "protocol/paths/path_selector.h"
#include "protocol/paths/peer_planes.h"
#include "protocol/paths/port_status.h"
#include "protocol/queue_pair.h"
#include "protocol/random_source.h"
#include "protocol/slab_pool.h"
#include "sim_faults.h"

namespace mrc::sim
{

struct network_config {
    unsigned planes = 4;
    unsigned uplinks = 2;
    unsigned active_per_plane = 0;
    duration serialisation{3000}; // of one packet on one port
    bool port_status = false;     // the hosts tell each other of their ports
    bool shared_planes = false;   // QPs share what they know of the planes to the other host
    std::uint64_t seed = 1;
};

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
    // Every so many writes one finds the memory busy; 0: none.
    void busy_one_in(std::uint32_t writes) { busy_one_in_ = writes; }
    [[nodiscard]] std::uint64_t refused_busy() const { return refused_busy_; }

private:
    std::vector<std::byte> bytes_;
    protocol::random_source random_;
    std::uint32_t busy_one_in_ = 0;
    std::uint64_t refused_busy_ = 0;
};

// One end of a QP, and what its application got from it.
struct qp_end {
    qp_end(const protocol::qp_config &how, const protocol::qp_surroundings &around) : config{how}, qp{how, around} {}

    protocol::qp_config config;
    protocol::queue_pair qp;
    std::vector<protocol::completion> completions;
    std::vector<protocol::receive_completion> receives;
    std::uint64_t receives_posted = 0; // ids 0, 1, 2 …
    bool posts_receives = true;        // as many as fit, always
    bool gone = false;                 // its process has died: the host does not know this queue pair any more
};

struct host {
    host(const network_config &network, std::size_t memory_bytes, std::uint64_t seed);

    [[nodiscard]] protocol::queue_pair &qp() { return ends[0]->qp; }
    [[nodiscard]] std::vector<protocol::completion> &completions() { return ends[0]->completions; }
    [[nodiscard]] const protocol::plane_mask *peer_ports() const { return status ? &status->peer_ports() : nullptr; }
    // Nothing is on its way through the timers of any QP.
    [[nodiscard]] protocol::instant next_deadline() const;

    // A turn of its worker: what has arrived, …
    void receive(instant now);
    // … and what the application does: it takes completions and posts receive requests.
    void report();

    protocol::slab_pool pool;
    protocol::local_ports ports;
    protocol::path_group paths;
    std::optional<protocol::port_status> status;
    std::optional<protocol::peer_planes> peer;
    host_memory memory;
    std::vector<std::byte> source; // what post() sends
    std::vector<std::unique_ptr<protocol::congestion_control>> controls;
    std::vector<std::unique_ptr<protocol::path_selector>> selectors;
    std::vector<std::unique_ptr<qp_end>> ends;

    std::vector<path_model> out;       // by path slot
    std::vector<std::uint64_t> frames; // by plane, data packets
    std::vector<interval> off_cpu;
    instant wakes_at = protocol::never; // earliest run in the event queue
    std::size_t first_turn = 0;         // the QP that sends first
    bool dead = false;                  // answers nothing, not even probes
    std::uint8_t offered_mpr = 0;       // Dynamic MPR that its SACKs offer, at most its own; 0: that
    std::vector<arrived_frame> unread;  // while off the CPU, too

private:
    void receive_endpoint(const arrived_frame &frame, instant now);
};

} // namespace mrc::sim
