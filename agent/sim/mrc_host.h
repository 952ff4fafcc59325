// SPDX-License-Identifier: Apache-2.0
// A host that speaks MRC: agent/protocol unchanged, driven as a worker drives it. Each flow has queue pairs of its own
// in its own direction, so a queue pair either sends or only answers. All queue pairs to hosts behind one T0 share a
// path group. Queue pairs with something to send take turns, equal in bytes, and are asked only while the NIC has room.
// It sees every frame at once, or goes in rounds as the worker of a real host does (worker_model.h).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "datapath/timer_gate.h"
#include "protocol/congestion/congestion_control.h"
#include "protocol/memory_sink.h"
#include "protocol/paths/path_group.h"
#include "protocol/paths/path_selector.h"
#include "protocol/paths/port_status.h"
#include "protocol/queue_pair.h"
#include "sim/engine.h"
#include "sim/flow_table.h"
#include "sim/receive_ring.h"
#include "sim/transport_config.h"
#include "sim/worker_model.h"

namespace mrc::sim
{

// A path of a host's group changed its state.
struct path_change {
    picoseconds at = 0;
    unsigned host = 0;
    unsigned leaf = 0; // the remote T0 that the group leads to
    unsigned slot = 0;
    protocol::path_state to = protocol::path_state::good;
};

struct mrc_shared {
    engine &clock;
    flow_table &flows;
    const transport_config &transport;
    const worker_model &worker;
    std::vector<path_change> &changes;
};

class mrc_host final : public attached_host
{
public:
    mrc_host(unsigned index, const mrc_shared &shared, std::uint64_t seed);

    // Makes the two ends of a queue pair; returns the sender's queue. With `pinned`, it uses that slot only.
    static unsigned connect(mrc_host &source, mrc_host &target, std::uint64_t seed, std::optional<unsigned> pinned);
    // The path group to the T0 of that host, made if there is none.
    protocol::path_group &open_group(unsigned far_host);

    void on_frame(const frame &arrived) override;
    void pump() override;
    void on_queue_pair_timer(unsigned queue) override;
    void on_path_group_timer(unsigned group) override;
    void on_carrier(unsigned plane, bool up) override;
    [[nodiscard]] bool post(unsigned queue, const message_part &part) override;

    [[nodiscard]] std::size_t queues() const { return queues_.size(); }
    [[nodiscard]] bool sends(unsigned queue) const { return queues_[queue]->sends; }
    [[nodiscard]] const protocol::queue_pair &qp(unsigned queue) const { return *queues_[queue]->qp; }
    [[nodiscard]] const protocol::congestion_control &control(unsigned queue) const { return *queues_[queue]->control; }
    // The path group to a T0, and when each of its paths last took a data packet; null when there is no traffic to it.
    [[nodiscard]] const protocol::path_group *group_to(unsigned leaf) const;
    [[nodiscard]] picoseconds last_use(unsigned leaf, unsigned slot) const;
    // Largest distance of a plane's share of this host's data packets from an equal one, relative to it.
    [[nodiscard]] double plane_imbalance() const;
    [[nodiscard]] const protocol::local_ports &ports() const { return ports_; }
    // Frames that found a port's ring full.
    [[nodiscard]] std::uint64_t overruns() const { return overruns_; }

private:
    // Timers of path groups from here on are those of peers.
    static constexpr unsigned peer_timers = 1u << 16;
    // Each group has rows of its own.
    static constexpr protocol::path_index group_base{1};

    // Counts what it is given instead of keeping it.
    class counting_sink final : public protocol::memory_sink
    {
    public:
        explicit counting_sink(flow_table &flows) : flows_{flows} {}
        std::expected<void, protocol::write_refusal> write(std::uint32_t rkey, std::uint64_t va,
                                                           std::span<const std::byte> payload) override
        {
            flows_.on_bytes(rkey, static_cast<std::uint32_t>(va >> 32), static_cast<std::uint32_t>(payload.size()));
            return {};
        }

    private:
        flow_table &flows_;
    };

    struct group_record {
        unsigned leaf = 0;
        unsigned far_host = 0; // probes go to this host of the leaf
        std::unique_ptr<protocol::path_group> paths;
        std::unique_ptr<protocol::sack_proofs> proofs;
        std::vector<unsigned> queues;
        std::vector<picoseconds> last_use;
        std::uint32_t silences = 0;
        picoseconds timer_at = no_time;
    };
    // Another host: on which planes it can be reached, as it says.
    struct peer_record {
        unsigned group = 0;
        std::unique_ptr<protocol::port_status> ports;
        std::vector<unsigned> queues;
        picoseconds timer_at = no_time;
    };
    struct queue_record {
        unsigned peer_host = 0;
        unsigned peer_queue = 0;
        unsigned group = 0;
        bool sends = false;
        bool backlogged = false; // in turns_
        std::int64_t deficit = 0;
        picoseconds timer_at = no_time;
        std::unique_ptr<protocol::congestion_control> control;
        std::unique_ptr<protocol::path_selector> selector;
        std::unique_ptr<protocol::queue_pair> qp;
    };

    // Waits in a port's ring.
    struct arrived_frame {
        frame content;
        protocol::instant at;
    };

    [[nodiscard]] unsigned group_of(unsigned leaf, unsigned far_host);
    void add_queue(unsigned peer_host, bool sends, unsigned own, unsigned peer, std::uint64_t seed,
                   std::optional<unsigned> pinned);
    void read(const frame &arrived, protocol::instant at);
    // Of the slot of its path, with the ways that there are to where it comes from.
    [[nodiscard]] unsigned uplinks_of(const frame &arrived) const;
    // When the worker may begin a round: now, or later.
    [[nodiscard]] picoseconds free_at();
    void wake(picoseconds at);
    void run_round();
    void run_timer(unsigned queue);
    [[nodiscard]] bool has_room() const;
    void transmit(std::uint64_t most); // packets
    void backlog(unsigned queue);
    void answer(unsigned queue);
    void send(const protocol::outgoing &packet, unsigned group, unsigned to_host, unsigned to_queue);
    void reflect(const frame &arrived);
    void on_endpoint_frame(const frame &arrived, const protocol::arrival &how);
    [[nodiscard]] peer_record &peer_of(unsigned far_host);
    void follow_peer(unsigned far_host);
    void set_timer(unsigned queue);
    void set_group_timer(unsigned group);
    void after_feedback(unsigned queue);
    void take_completions(unsigned queue);

    unsigned index_;
    mrc_shared shared_;
    std::uint64_t seed_;
    protocol::local_ports ports_;
    counting_sink memory_;
    std::vector<std::unique_ptr<group_record>> groups_;
    std::vector<std::unique_ptr<queue_record>> queues_;
    std::vector<std::unique_ptr<peer_record>> peers_; // by host
    std::deque<unsigned> turns_;                      // queue pairs that may have something to send
    bool pumping_ = false;
    // Of a worker that goes in rounds:
    worker_time time_;
    datapath::timer_gate timer_gate_;
    std::vector<receive_ring<arrived_frame>> unread_; // by plane
    std::vector<unsigned> due_;                       // queue pairs whose timers have expired since the last round
    std::uint64_t handled_ = 0;                       // frames, in this round
    picoseconds wakes_at_ = no_time;
    std::uint64_t overruns_ = 0;
};

} // namespace mrc::sim
