// SPDX-License-Identifier: Apache-2.0
// The daemon's side of one client: answers its requests and owns its queue pairs, completion queues and memory, all of
// which end with it. What a client says is checked here; what it writes to shared memory, in the worker.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "datapath/worker.h"
#include "kernel/host_tables.h"
#include "kernel/process_memory.h"
#include "kernel/unique_fd.h"
#include "service/config/config.h"
#include "service/control/control_service.h"
#include "service/peer_directory.h"
#include "service/ports/host_ports.h"
#include "service/sessions/stray_descriptors.h"
#include "service/sessions/user_account.h"
#include "session/fd_passing.h"
#include "session/session_protocol.h"

namespace mrc::service
{

// What all sessions share. Borrowed; outlives them.
struct session_resources {
    const daemon_config &config;
    const fabric &rules;
    kernel::host_tables &tables;
    datapath::worker &worker;
    port_controls &ports;
    const link_monitor &links;
    peer_directory &peers;
    const protocol::local_ports &local;
    control_service &control;
    std::uint32_t payload_bytes = 0;
};

class client_session
{
public:
    // Its resources count in the account; `place` is that of a client there.
    client_session(session_resources shared, kernel::unique_fd socket, std::shared_ptr<user_account> account,
                   holding place);
    client_session(const client_session &) = delete;
    client_session &operator=(const client_session &) = delete;
    ~client_session(); // queue pairs first, then completion queues, then memory

    [[nodiscard]] int fd() const { return socket_.get(); }

    // Reads and answers one request. False when the client has gone or broke the protocol: end the session.
    bool serve();

    // To all event pipes of the client.
    void tell(const session::event_record &event) const;
    // A controller's reply, later than its request.
    void send_reply(std::span<const std::byte> reply) const;
    // An EV event waits to be polled.
    void tell_subscription(std::uint64_t subscription) const;
    [[nodiscard]] std::uint32_t number() const { return number_; }

private:
    struct answer {
        session::session_reply reply;
        std::vector<int> fds;
    };
    struct owned_domain {
        holding held;
        std::uint32_t users = 0; // regions and queue pairs
    };
    struct owned_region {
        std::uint32_t pd = 0;
        holding held;
        holding bytes;
    };
    struct owned_events {
        std::shared_ptr<const datapath::client_pipe> pipe;
        kernel::unique_fd wait; // the client's end
        holding held;
    };
    struct owned_channel {
        std::shared_ptr<const datapath::client_pipe> pipe;
        kernel::unique_fd wait; // the client's end
        holding held;
        std::uint32_t users = 0; // completion queues
    };
    struct owned_cq {
        std::unique_ptr<datapath::completion_ring> ring;
        kernel::unique_fd memory;
        holding held;
        holding entries;
        std::uint32_t channel = 0; // 0: none
        std::uint32_t users = 0;   // queue pairs, twice when it serves both queues
    };
    struct owned_qp {
        session::qp_request made{};
        session::qp_reply numbers{};
        session::qp_attributes now{}; // its state while it is not in the worker
        kernel::unique_fd file;
        kernel::mapping rings;
        holding held;
        holding requests;                // that its queues have room for
        std::uint32_t sends_flushed = 0; // while it is in ERROR without having been in the worker
        std::uint32_t receives_flushed = 0;
        std::uint32_t known = 0; // which attributes have been set
        std::uint16_t life = 0;  // how often it has been reset
        bool in_worker = false;
    };

    struct qp_phase {
        protocol::qp_state state = protocol::qp_state::reset;
        bool draining = false; // in SQD, and requests that had begun are under way
    };

    bool serve_packet(std::span<const std::byte> bytes, const session::received_packet &how, kernel::unique_fd &fd);
    bool serve_request(std::span<const std::byte> packet, kernel::unique_fd &fd);
    bool serve_control(std::span<const std::byte> packet);
    // What is not adopted stays in `fd`.
    answer handle(const session::session_request &request, kernel::unique_fd &fd);
    answer hello(kernel::unique_fd &memory);
    void drain_socket();
    [[nodiscard]] std::optional<holding> take(resource what, std::uint64_t amount, std::uint64_t limit) const;
    [[nodiscard]] answer describe() const;
    answer open_events();
    answer close_events(std::uint32_t number);
    answer allocate_pd();
    answer deallocate_pd(std::uint32_t number);

    // session_memory.cpp
    answer register_memory(const session::memory_request &request, kernel::unique_fd &file);
    answer deregister_memory(std::uint32_t key);
    std::expected<datapath::client_memory, kernel::memory_error> reach(const session::memory_request &request,
                                                                       const kernel::unique_fd &file);

    // session_queues.cpp
    answer create_channel();
    answer destroy_channel(std::uint32_t number);
    answer create_cq(const session::cq_request &request);
    answer destroy_cq(std::uint32_t number);
    answer create_qp(const session::qp_request &request);
    answer destroy_qp(std::uint32_t qpn);
    void release_qp(owned_qp &qp);
    [[nodiscard]] std::string refusal_of(const session::qp_request &request) const;
    [[nodiscard]] std::uint32_t free_qpn() const;
    [[nodiscard]] std::uint32_t free_bell() const;
    [[nodiscard]] static session::queue_pair_layout layout_of(const session::qp_reply &numbers);

    // session_states.cpp
    answer modify_qp(const session::qp_attributes &wanted);
    answer query_qp(std::uint32_t qpn);
    [[nodiscard]] qp_phase phase_of(const owned_qp &qp);
    [[nodiscard]] std::string refusal_of(const owned_qp &qp, protocol::qp_state from,
                                         const session::qp_attributes &wanted) const;
    static void adopt(owned_qp &qp, const session::qp_attributes &wanted);
    // Those that `wanted` sets; EINVAL unless they are ONLINE.
    session::outcome<> hold_profiles(const session::qp_attributes &wanted);
    void let_go_of_profiles(const session::qp_attributes &of,
                            std::uint32_t mask = session::qp_sets_ev_profile | session::qp_sets_cc_profile);
    answer move(owned_qp &qp, protocol::qp_state from, protocol::qp_state to);
    [[nodiscard]] bool is_connected_by_another(const datapath::worker_peer &peer, protocol::qpn number);
    answer make_ready_to_receive(owned_qp &qp);
    answer make_ready_to_send(owned_qp &qp);
    void reset(owned_qp &qp);
    void fail(owned_qp &qp);
    void flush_unconnected(owned_qp &qp);
    std::unique_ptr<datapath::worker_qp> build_qp(const owned_qp &qp, const datapath::worker_peer &peer);

    // session_reports.cpp
    answer report_qp(std::uint32_t qpn);
    answer reset_progress(std::uint32_t qpn);
    answer query_status();
    void fill_paths(session::qp_report &report, const protocol::queue_pair &qp, const protocol::path_group &paths);

    [[nodiscard]] std::shared_ptr<const datapath::client_pipe> events_of(std::uint32_t number) const;

    session_resources shared_;
    std::shared_ptr<user_account> account_;
    holding place_;
    stray_descriptors strays_;
    kernel::unique_fd socket_;
    std::uint32_t number_;                      // of the client
    datapath::worker_client *client_ = nullptr; // in the worker, since hello
    kernel::unique_fd bells_;
    std::shared_ptr<const kernel::process_memory> process_;
    std::uint32_t last_number_ = 0; // of any object but queue pairs and regions
    std::map<std::uint32_t, owned_events> events_;
    std::map<std::uint32_t, owned_domain> domains_;
    std::map<std::uint32_t, owned_region> regions_; // by key
    std::map<std::uint32_t, owned_channel> channels_;
    std::map<std::uint32_t, owned_cq> cqs_;
    std::map<std::uint32_t, owned_qp> qps_;                                               // by QPN
    std::map<std::uint64_t, std::shared_ptr<const datapath::client_pipe>> subscriptions_; // to EV events: whom to tell
    std::uint64_t connected_at_;                                                          // CLOCK_BOOTTIME, ns
};

inline constexpr std::uint32_t most_pieces = 16;
inline constexpr std::uint32_t most_inline = 256;
inline constexpr std::uint16_t most_immediates = 4096; // messages with immediate that are not acknowledged

// Of a queue pair that has just been made or reset.
[[nodiscard]] session::qp_attributes initial_attributes(std::uint32_t qpn, std::uint32_t window_psns);
// A reply that refuses; for the session's own files.
[[nodiscard]] session::session_reply refuse(int error, const std::string &text);
// For keys, QPNs and PSNs, which nobody may guess.
[[nodiscard]] std::uint32_t random_word();

} // namespace mrc::service
