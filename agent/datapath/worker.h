// SPDX-License-Identifier: Apache-2.0
// The worker: one thread that owns all sockets, frames and queue pairs, and runs to completion:
// receive → protocol → requests → timers → transmit, then spins briefly, then sleeps until a packet, a doorbell or a
// deadline.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <semaphore>
#include <thread>
#include <type_traits>
#include <vector>

#include <boost/container/static_vector.hpp>
#include <boost/lockfree/spsc_queue.hpp>

#include <poll.h>

#include "datapath/frame_codec.h"
#include "datapath/mapped_array.h"
#include "datapath/probe_targets.h"
#include "datapath/region_table.h"
#include "datapath/transmit_engine.h"
#include "datapath/unique_fd.h"
#include "datapath/work_ring.h"
#include "datapath/xsk_socket_pair.h"
#include "mrc/maps.h"
#include "protocol/congestion_control.h"
#include "protocol/path_group.h"
#include "protocol/queue_pair.h"

namespace mrc::datapath
{

// Everything of one queue pair that lives in the worker. Built by the service thread, then handed over.
struct worker_qp {
    protocol::qpn number;
    worker_peer peer; // its path group is shared by all QPs to the same T0 and outlives the QP
    std::unique_ptr<protocol::congestion_control> congestion;
    std::unique_ptr<protocol::queue_pair> protocol;
    ring_view<send_entry> sends;
    ring_view<completion_entry> completions;
    mapping rings;
    unique_fd completion_event; // written when the client waits
    bool completion_pending = false;
};

// Every code point stands for itself.
[[nodiscard]] constexpr std::array<std::uint8_t, 64> default_code_points()
{
    std::array<std::uint8_t, 64> all{};
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<std::uint8_t>(i);
    return all;
}

struct worker_options {
    mrc_ip address{}; // inner source of everything sent
    std::uint16_t udp_port = MRC_UDP_PORT_ROCE;
    std::uint32_t burst = 64;
    std::array<std::uint8_t, 64> code_points = default_code_points(); // sent for each of the protocol's (enum mrc_dscp)
    std::chrono::microseconds spin{0};
};

// Counters of the worker itself; read by the service thread through call().
struct worker_counters {
    std::uint64_t loops = 0;
    std::uint64_t sleeps = 0;
    std::uint64_t received = 0;
    std::uint64_t drops[MRC_VERDICT_COUNT] = {}; // MRC_AGENT_*
};

class worker
{
public:
    // The BPF arrays and sockets are borrowed and outlive the worker; `engines[port]` may name one engine several
    // times.
    struct resources {
        std::vector<std::unique_ptr<xsk_socket_pair>> *sockets = nullptr;
        std::vector<transmit_engine *> engines; // by port row, null where the host has no port
        mapped_array<mrc_path> *paths = nullptr;
        mapped_array<mrc_qp> *qps = nullptr;
        mapped_array<mrc_overlay> *overlay = nullptr;
    };

    worker(const worker_options &options, resources borrowed);
    worker(const worker &) = delete;
    worker &operator=(const worker &) = delete;
    ~worker();

    void start();
    void stop(); // joins

    // Runs `task` on the worker thread between two rounds and waits for it. For set-up and queries, never per packet.
    // Call it from the service thread only.
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

    // To be used inside call() only.
    void add_qp(std::unique_ptr<worker_qp> qp);
    [[nodiscard]] std::unique_ptr<worker_qp> remove_qp(protocol::qpn number);
    [[nodiscard]] worker_qp *find_qp(protocol::qpn number);
    void add_peer(const worker_peer &peer);
    [[nodiscard]] region_table &regions() { return regions_; }
    [[nodiscard]] const worker_counters &counters() const { return counters_; }

    // Written by clients to wake a sleeping worker.
    [[nodiscard]] int doorbell_fd() const { return doorbell_.get(); }
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
    void on_frame(std::byte *data, std::uint32_t length, protocol::instant now);
    std::size_t run_calls();
    std::size_t take_requests(protocol::instant now);
    [[nodiscard]] static bool can_take(const worker_qp &qp);
    void run_timers(protocol::instant now);
    std::size_t transmit(protocol::instant now);
    void flush();
    bool transmit_one(worker_qp &qp, protocol::instant now);
    std::size_t transmit_endpoint_operations(protocol::instant now);
    // False when the payload cannot be read under the packet's local key.
    bool emit(const worker_peer &to, const protocol::outgoing &packet);
    void on_endpoint_packet(const decoded &packet, const protocol::arrival &how);
    [[nodiscard]] const worker_peer *find_peer(const mrc_ip &address) const;
    void deliver_completions(worker_qp &qp);
    void watch_paths(protocol::instant now);
    void report();
    void report_paths(protocol::path_group &group);
    void report_qp(const worker_qp &qp);
    void sleep_until(protocol::instant deadline);
    [[nodiscard]] bool anything_waiting() const;
    [[nodiscard]] protocol::instant next_deadline() const;
    [[nodiscard]] bool engines_ready();

    worker_options options_;
    resources io_;
    region_table regions_;
    std::vector<std::unique_ptr<worker_qp>> qps_;
    std::vector<worker_qp *> qp_by_row_;
    std::vector<worker_peer> peers_; // sorted by address
    probe_targets targets_;
    boost::container::static_vector<answer, 64> answers_;
    std::vector<transmit_engine *> distinct_engines_;
    worker_counters counters_;
    std::size_t first_qp_ = 0; // whose turn it is
    protocol::instant next_report_;
    protocol::instant next_watch_;
    std::vector<pollfd> poll_set_;

    boost::lockfree::spsc_queue<call_base *, boost::lockfree::capacity<64>> calls_;
    unique_fd doorbell_;     // clients hold it too, and may do with it what they like
    unique_fd service_bell_; // of the service thread's calls
    unique_fd status_fd_;
    mapping status_;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

// CLOCK_MONOTONIC, the clock of bpf_ktime_get_ns.
[[nodiscard]] protocol::instant monotonic_now();

} // namespace mrc::datapath
