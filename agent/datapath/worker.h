// SPDX-License-Identifier: Apache-2.0
// The worker: one thread that owns all sockets, frames and queue pairs, and runs to completion:
// receive → protocol → requests → timers → transmit, then spins briefly, then sleeps until a packet, a doorbell or a
// deadline.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <thread>
#include <type_traits>
#include <vector>

#include <boost/container/static_vector.hpp>
#include <boost/lockfree/spsc_queue.hpp>

#include <poll.h>

#include "codec/frame_codec.h"
#include "datapath/connections.h"
#include "datapath/probe_targets.h"
#include "datapath/region_table.h"
#include "datapath/talking_peers.h"
#include "datapath/transmit_engine.h"
#include "datapath/worker_batch.h"
#include "datapath/worker_client.h"
#include "kernel/mapped_array.h"
#include "kernel/unique_fd.h"
#include "kernel/xsk_socket_pair.h"
#include "mrc/abi/maps.h"
#include "protocol/congestion/congestion_control.h"
#include "protocol/paths/endpoint_batches.h"
#include "protocol/paths/path_group.h"
#include "protocol/queue_pair.h"
#include "session/work_ring.h"

namespace mrc::datapath
{

// Every code point stands for itself.
[[nodiscard]] constexpr std::array<std::uint8_t, 64> default_code_points()
{
    std::array<std::uint8_t, 64> all{};
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<std::uint8_t>(i);
    return all;
}

struct worker_options {
    mrc_ip address{};  // inner source of everything sent
    mrc_ip address4{}; // the same toward IPv4 addresses
    std::uint16_t udp_port = MRC_UDP_PORT_ROCE;
    std::uint32_t burst = 64;
    std::array<std::uint8_t, 64> code_points = default_code_points(); // sent for each of the protocol's (enum mrc_dscp)
    std::chrono::microseconds spin{0};
    // A packet that waited longer for the worker counts as congestion experienced (CE): the host's own queue is the
    // last of the path, and no switch marks it. 0: never.
    std::chrono::microseconds backlog_mark{50};
};

// Counters of the worker itself; read by the service thread through call().
struct worker_counters {
    std::uint64_t loops = 0;
    std::uint64_t sleeps = 0;
    std::uint64_t received = 0;
    std::uint64_t backlogged = 0;                // of these, counted as congestion experienced because they waited
    std::uint64_t drops[MRC_VERDICT_COUNT] = {}; // MRC_AGENT_*
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
        int verdicts_fd = -1; // per-CPU array; the agent's rows are written here
        // On the worker thread: a peer's port status has changed; a path has changed its state.
        std::function<void(const worker_peer &)> on_peer_ports;
        std::function<void(protocol::path_index, protocol::path_state)> on_path_state;
        std::function<void()> on_batch_done; // of start_batch
    };

    worker(const worker_options &options, resources borrowed);
    worker(const worker &) = delete;
    worker &operator=(const worker &) = delete;
    ~worker();

    void start();
    void stop(); // joins

    // One round, as the thread makes them between its sleeps; tests make them without a thread. What it did: packets,
    // requests, calls.
    std::size_t round();
    // A frame, Ethernet header first, with host_rx's metadata in front of it.
    void on_frame(std::byte *data, std::uint32_t length, protocol::instant now);

    // Runs `task` on the worker thread between two rounds and waits for it; at once where there is no thread. For
    // set-up and queries, never per packet. Call it from the service thread only.
    template <typename Task>
    void call(Task task)
    {
        struct bound final : call_base {
            explicit bound(Task &t) : body{t} {}
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
    [[nodiscard]] worker_qp *find_qp(protocol::qpn number);
    [[nodiscard]] const connections &connected() const { return connections_; }
    void activate(worker_qp &qp); // it may have something to do
    void add_peer(const worker_peer &peer);
    // A peer that was added is known by another address, too: what comes from there is answered there.
    void add_peer_address(worker_peer peer, const mrc_ip &address);
    // The batch stays the caller's: until `done`, after which on_batch_done follows, or until it is taken back. False:
    // too many requests are under way.
    [[nodiscard]] bool start_batch(worker_batch &batch) { return batches_.start(batch); }
    void take_back(worker_batch &batch) { batches_.cancel(batch); }
    // peer.paths, of an EV profile, to a known peer; its queue pairs come after it and go before it.
    void add_profile_group(const worker_peer &peer) { targets_.add_profile_group(peer); }
    void remove_profile_group(const protocol::path_group *paths) { targets_.remove_group(paths); }
    [[nodiscard]] region_table &regions() { return regions_; }
    [[nodiscard]] const worker_counters &counters() const { return counters_; }

    // From now on until its client is removed, whatever is written to this eventfd ends the worker's sleep. False with
    // errno set when that cannot be.
    [[nodiscard]] bool hear(const kernel::unique_fd &doorbell) const;
    // worker_status page, sealed memfd, for clients to map read-only.
    [[nodiscard]] int status_fd() const { return status_fd_.get(); }

private:
    struct call_base {
        virtual ~call_base() = default;
        virtual void run() = 0;
        std::binary_semaphore done{0};
    };
    void submit(call_base &request);

    // An endpoint response that waits for its turn to be sent.
    struct answer {
        worker_peer to;
        protocol::outgoing packet;
    };

    void run();
    std::size_t receive(protocol::instant now);
    std::size_t run_calls();
    void run_timers(protocol::instant now);

    // worker_queues.cpp
    void deactivate(worker_qp &qp);
    [[nodiscard]] static bool idle(const worker_qp &qp);
    void answer_bells();
    [[nodiscard]] static bool can_take(const worker_qp &qp);
    std::size_t take_requests(protocol::instant now);
    void take_send(worker_qp &qp, std::uint32_t position, const session::send_entry &entry, protocol::instant now);
    std::size_t take_receives(worker_qp &qp) const;
    static void complete_send(worker_qp &qp, const protocol::completion &done);
    static void complete_receive(worker_qp &qp, const protocol::receive_completion &done);
    static void deliver_completions(worker_qp &qp);
    static void tell_of_state(worker_qp &qp);
    void settle();
    template <typename Visitor>
    void for_each_active(Visitor visit)
    {
        for (worker_client *client : active_clients_)
            for (worker_qp *qp : client->active)
                visit(*qp);
    }

    // worker_transmit.cpp
    std::size_t transmit(protocol::instant now);
    void serve(worker_client &client, std::size_t limit);
    [[nodiscard]] bool others_ring(const worker_client &served) const; // clients have requests that are not taken
    void flush();
    [[nodiscard]] std::uint32_t transmit_one(worker_qp &qp, protocol::instant now);
    std::size_t transmit_endpoint_operations(protocol::instant now);
    // Payload is that of requests of `qp`. False when it cannot be read under the requests' local keys.
    bool emit(const mrc_ip &to, std::uint16_t host_usid, const protocol::outgoing &packet,
              const worker_qp *qp = nullptr);
    void on_endpoint_packet(const codec::decoded &packet, const protocol::arrival &how, protocol::instant now);
    mrc_verdict handle_endpoint(const worker_peer &peer, const codec::decoded &packet, const protocol::arrival &how,
                                protocol::instant now);
    mrc_verdict on_port_status(const worker_peer &peer, const protocol::endpoint_request_packet &request,
                               const protocol::arrival &how, protocol::instant now);
    bool on_endpoint_response(const worker_peer &peer, const protocol::endpoint_response_packet &response,
                              const protocol::arrival &how);
    std::size_t transmit_batches();
    void talk_to(const worker_peer &peer);
    // Sends what `next` gives while the engines take it.
    template <typename Source>
    std::size_t drain(const worker_peer &to, Source next)
    {
        std::size_t sent = 0;
        while (engines_ready()) {
            const std::optional<protocol::outgoing> packet = next();
            if (!packet)
                break;
            emit(to.address, to.host_usid, *packet);
            ++sent;
        }
        return sent;
    }
    [[nodiscard]] const worker_peer *find_peer(const mrc_ip &address) const;
    void watch_paths(protocol::instant now);
    void report();
    void report_verdicts();
    [[nodiscard]] static std::size_t possible_cpus();
    void follow_receive_drops();
    void report_paths(protocol::path_group &group);
    void report_qp(const worker_qp &qp);
    static void report_reasons(mrc_qp_row &row, const protocol::qp_counters &counters);
    void sleep_until(protocol::instant deadline);
    [[nodiscard]] bool anything_waiting() const;
    [[nodiscard]] protocol::instant next_deadline() const;
    [[nodiscard]] bool engines_ready();

    worker_options options_;
    resources io_;
    region_table regions_;
    std::vector<std::unique_ptr<worker_client>> clients_;
    std::vector<worker_client *> active_clients_; // with a queue pair that has something to do
    std::vector<std::unique_ptr<worker_qp>> qps_;
    std::vector<worker_qp *> qp_by_row_;
    connections connections_;
    std::vector<worker_peer> peers_; // sorted by address
    probe_targets targets_;
    talking_peers talking_;
    boost::container::static_vector<answer, 64> answers_;
    protocol::endpoint_batches batches_{{}};
    std::vector<transmit_engine *> distinct_engines_;
    worker_counters counters_;
    std::size_t client_turn_ = 0; // whose turn it is to send
    std::size_t sent_ = 0;        // packets in this round
    std::size_t flushed_ = 0;     // of these
    std::int64_t spent_ = 0;      // of allowances
    std::uint64_t reported_drops_[MRC_VERDICT_COUNT] = {};
    std::vector<std::uint64_t> verdict_row_ = std::vector<std::uint64_t>(possible_cpus()); // one value per CPU
    std::size_t report_turn_ = 0;
    std::uint64_t receive_dropped_ = 0;
    std::uint8_t receive_penalty_ = 0; // of all queue pairs
    protocol::rate_limit answer_limit_{protocol::endpoint_interval, protocol::endpoint_burst};
    protocol::instant next_report_;
    protocol::instant next_watch_;
    std::vector<pollfd> poll_set_;

    boost::lockfree::spsc_queue<call_base *, boost::lockfree::capacity<64>> calls_;
    kernel::unique_fd doorbells_;    // epoll of the clients' eventfds
    kernel::unique_fd service_bell_; // of the service thread's calls
    kernel::unique_fd status_fd_;
    kernel::mapping status_;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

[[nodiscard]] bool same_address(const mrc_ip &a, const mrc_ip &b);

} // namespace mrc::datapath
