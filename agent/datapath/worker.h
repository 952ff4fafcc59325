// SPDX-License-Identifier: Apache-2.0
// The worker: one thread that owns all sockets, frames and queue pairs, and runs to completion. A round is: what the
// service thread asks for, arrivals, timers, turns of the clients, then what operators see. Then it spins briefly, and
// gives its core to whoever waits for it meanwhile, then sleeps until a packet, a doorbell or a deadline.
//
// what                                               where
// queue pairs, and the hosts that they use           queue_pair_table.h, connections.h
// whose turn it is                                   turn_scheduler.h
// who waits: for the peer, for room, for a time,     waiting_queue_pairs.h, crowded_windows.h, deadline_heap.h,
// for nothing                                        resting_queue_pairs.h
// requests in, completions out                       work_queues.h
// packets of hosts and paths, not of queue pairs     endpoint_desk.h
// encoding and transmit engines                      packet_output.h
// packets between queue pairs of this host           loopback.h, own_host.h
// what several workers show as one                   shared_path_states.h
// rows of the BPF maps                               map_reporter.h
// sleep, doorbells                                   sleeper.h
// which thread makes the rounds                      round_turns.h
// what happens, for whoever traces it                trace_ring.h
//
// Counters show up in the maps every 10 ms. What is more than a count, a path's state or a packet dropped, shows
// up before the worker sleeps, too: a sleep may last.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include <poll.h>

#include "datapath/crowded_windows.h"
#include "datapath/deadline_heap.h"
#include "datapath/endpoint_desk.h"
#include "datapath/fair_receive.h"
#include "datapath/loopback.h"
#include "datapath/map_reporter.h"
#include "datapath/packet_output.h"
#include "datapath/queue_pair_table.h"
#include "datapath/receive_overload.h"
#include "datapath/region_table.h"
#include "datapath/resting_queue_pairs.h"
#include "datapath/round_turns.h"
#include "datapath/service_calls.h"
#include "datapath/shared_path_states.h"
#include "datapath/sleeper.h"
#include "datapath/timer_gate.h"
#include "datapath/trace_ring.h"
#include "datapath/transmit_engine.h"
#include "datapath/turn_scheduler.h"
#include "datapath/waiting_queue_pairs.h"
#include "datapath/worker_batch.h"
#include "datapath/worker_client.h"
#include "kernel/cpu_list.h"
#include "kernel/giving_way.h"
#include "kernel/mapped_array.h"
#include "kernel/monotonic_clock.h"
#include "kernel/xsk_socket_pair.h"
#include "mrc/abi/maps.h"
#include "protocol/slab_pool.h"
#include "session/embedded_worker.h"

namespace mrc::datapath
{

struct worker_options {
    kernel::cpu_list cpus{}; // that its own thread runs on; empty: those of whoever starts it
    packet_marks marks{};
    turn_limits turns{};
    std::chrono::microseconds spin{0};
    // Packets that waited longer for the worker are counted; queue pairs answer for them (host_backlog.h). 0: none.
    std::chrono::microseconds backlog_mark{50};
    protocol::slab_limits memory{}; // of what queue pairs borrow while they have something under way
    protocol::instant (*clock)() = kernel::monotonic_now; // what rounds go by
};

class worker
{
public:
    // The BPF arrays and sockets are borrowed and outlive the worker; `engines[port]` may name one engine several
    // times.
    struct resources {
        std::vector<std::unique_ptr<kernel::xsk_socket_pair>> *sockets = nullptr;
        std::vector<transmit_engine *> engines; // by port row, null where the host has no port
        kernel::mapped_array<mrc_path_row> *paths = nullptr;
        kernel::mapped_array<mrc_qp_row> *qps = nullptr;
        kernel::mapped_array<mrc_overlay_row> *overlay = nullptr;
        verdict_report::writer write_verdict; // the agent's rows of `verdicts`
        // On the worker thread: what a peer says of its ports has changed, or whether and on which planes it is
        // reached; a path has changed its state.
        std::function<void(const worker_peer &)> on_peer_change;
        std::function<void(const protocol::path_transition &)> on_path_state;
        std::function<void()> on_batch_done;                      // of start_batch
        std::function<void(const worker_qp &)> on_qp_failed = {}; // each once
        mrc_worker_row *row = nullptr;                            // null: nobody is shown what the worker does
        trace_ring *trace = nullptr;                              // null: there is nothing to be traced
        // Of several workers of a host; null: it has this one only.
        unsigned number = 0; // the first one speaks for the host
        shared_path_states *states = nullptr;
        loopback_lanes *lanes = nullptr;
        std::function<void(unsigned)> wake_other = {}; // by number
    };

    worker(worker_options options, resources borrowed);
    worker(const worker &) = delete;
    worker &operator=(const worker &) = delete;
    ~worker();

    void start(); // throws startup_error where the kernel refuses the CPUs; the thread runs on others then
    void stop();  // joins

    // One round, as the thread makes them between its sleeps, with the baton; tests make them without a thread. What it
    // did: packets, requests, completions, calls.
    std::size_t round();

    // Threads of the program that this worker is part of, from start() to dismiss_guests(). Rounds for as long as there
    // is something to do, but few, unless another thread makes them just now; whether any was made. A guest that polls
    // comes before peers: it gets to see what has arrived, and the next round, whoever makes it, acknowledges that,
    // together with what the guest has posted for it. The own thread does so soon when no guest comes.
    bool round_as_guest(session::round_for what);
    // Rounds, and sleep between them, until one of the descriptors is ready: as ppoll(), how many are, 0 from `until`
    // on, -1 where a signal ends the sleep, or guests are dismissed. Nothing: another thread makes the rounds, and
    // brings what this one waits for.
    [[nodiscard]] std::optional<int> poll_as_guest(std::span<pollfd> descriptors, protocol::instant until);
    void dismiss_guests(); // those that are in leave soon
    // For threads that wait for what another brings, or are not going to make rounds for a while.
    [[nodiscard]] round_turns &turns_of_threads() { return turns_of_threads_; }

    // What host_rx has steered here: its metadata, Ethernet header and inner packet.
    void on_frame(std::byte *data, std::uint32_t length, protocol::instant now);

    // Runs `task` on the worker thread between two rounds and waits for it; at once where there is no thread. For
    // set-up and queries, never per packet. From any thread but the worker's.
    template <typename Task>
    void call(Task task)
    {
        struct bound_task final : service_calls::call {
            explicit bound_task(Task &t) : body{t} {}
            void run() override { body(); }
            Task &body;
        } request{task};
        submit(request);
    }

    // To be used inside call() only. A client comes before its queue pairs and goes after them.
    void add_client(std::unique_ptr<worker_client> client);
    [[nodiscard]] std::unique_ptr<worker_client> remove_client(const worker_client &client);
    void add_qp(std::unique_ptr<worker_qp> qp);
    [[nodiscard]] std::unique_ptr<worker_qp> remove_qp(protocol::qpn number);
    [[nodiscard]] worker_qp *find_qp(protocol::qpn number) { return qps_.find(number); }
    [[nodiscard]] connections &connected() { return qps_.connected(); }
    // It may have something to do.
    void activate(worker_qp &qp)
    {
        waiting_.remove(qp);
        windows_.remove(qp);
        turns_.activate(qp);
        changed_.note(qp);
    }
    // As endpoint_desk's.
    void add_peer(const worker_peer &peer) { desk_.add_peer(peer); }
    void add_peer_address(const worker_peer &peer, const mrc_ip &address) { desk_.add_peer_address(peer, address); }
    [[nodiscard]] bool start_batch(worker_batch &batch) { return desk_.start_batch(batch); }
    void take_back(worker_batch &batch) { desk_.take_back(batch); }
    void add_profile_group(const worker_peer &peer) { desk_.add_profile_group(peer); }
    // This host's ports, or whether it has a neighbour on the way to a peer: path_group::usable().
    void ports_changed() { desk_.ports_changed(); }
    void forget(std::span<const worker_peer> hosts, std::span<const protocol::path_group *const> paths);
    // Packets may still wait for their engine, by rows of peers and groups that are gone.
    [[nodiscard]] bool unsent() const { return output_.unsent(); }
    [[nodiscard]] region_table &regions() { return regions_; }
    // Of its queue pairs. It is the worker's alone.
    [[nodiscard]] protocol::slab_pool &memory() { return memory_; }
    // For what it drives; null: nobody can trace it.
    [[nodiscard]] protocol::trace_sink *trace() const { return io_.trace; }
    [[nodiscard]] const worker_counters &counters() const { return counters_; }

    // From any thread: it makes another round.
    void wake() const { sleeper_.wake(); }
    // As sleeper's; a doorbell is heard until its client is removed.
    [[nodiscard]] bool hear(const kernel::unique_fd &doorbell) const { return sleeper_.hear(doorbell); }
    [[nodiscard]] int status_fd() const { return sleeper_.status_fd(); }
    // In a call, before sockets are closed.
    void forget_packet_sources() { sleeper_.forget_sources(); }

private:
    class turn_work;

    void submit(service_calls::call &request);
    void run();
    void keep();
    [[nodiscard]] int keep_as_guest(std::span<pollfd> descriptors, protocol::instant until);
    struct arrivals {
        protocol::instant at;
        std::size_t packets = 0;
        std::size_t work = 0;
        bool unread = false;
    };
    [[nodiscard]] arrivals take_in();
    std::size_t go_on(const arrivals &come);
    [[nodiscard]] bool may_answer_later(const arrivals &come) const;
    [[nodiscard]] receive_result receive(protocol::instant now);
    void on_qp_packet(worker_qp *qp, const codec::decoded &packet, const protocol::arrival &how, protocol::instant now);
    void on_own_packet(const loopback::passing &packet, protocol::instant now);
    void accept(worker_qp &qp, const protocol::packet &content, std::span<const std::byte> payload,
                const protocol::arrival &how, protocol::instant now);
    void write_gathered();
    void answer_bells();
    [[nodiscard]] bool bells_rung(const worker_client *except) const;
    void run_timers(protocol::instant now);
    bool look_at_ways();
    std::size_t deliver_own(protocol::instant now);
    [[nodiscard]] bool any_own() const;
    [[nodiscard]] unsigned worker_of(protocol::qpn number) const;
    void report(protocol::instant now);
    void report_changes();
    void report_failure(worker_qp &qp);
    std::uint64_t follow_receive_drops();
    sleep_end sleep(std::span<pollfd> own = {}, protocol::instant until = protocol::never);
    [[nodiscard]] protocol::instant next_deadline();

    worker_options options_;
    resources io_;
    region_table regions_;
    std::vector<std::unique_ptr<worker_client>> clients_;
    protocol::slab_pool memory_;
    queue_pair_table qps_;
    resting_queue_pairs resting_;
    waiting_queue_pairs waiting_;
    crowded_windows windows_;
    deadline_heap<worker_qp, &worker_qp::deadline> deadlines_;
    turn_scheduler turns_;
    packet_output output_;
    std::optional<shared_path_states> own_states_; // where there are no others
    std::optional<loopback_lanes> own_lanes_;
    endpoint_desk desk_;
    receive_overload overload_;
    timer_gate timer_gate_{kernel::usual_ring_size / receive_batch};
    changed_queue_pairs changed_;
    idle_reports idle_reports_;
    verdict_report verdicts_;
    worker_report own_report_;
    worker_counters counters_;
    protocol::instant next_report_;
    protocol::instant next_watch_;
    bool owes_answers_ = false; // to peers, for what a guest has taken in

    service_calls calls_;
    std::mutex callers_;
    sleeper sleeper_;
    round_turns turns_of_threads_;
    kernel::giving_way core_;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

} // namespace mrc::datapath
