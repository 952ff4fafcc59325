// SPDX-License-Identifier: Apache-2.0
// What the daemon keeps of one client: its protection domains, memory, event pipes, channels, completion queues and
// queue pairs. The functions of this folder work on it, one file for each kind of object; all on the service thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "kernel/host_tables.h"
#include "kernel/process_memory.h"
#include "kernel/unique_fd.h"
#include "service/config/config.h"
#include "service/control/control_service.h"
#include "service/peer_directory.h"
#include "service/ports/host_ports.h"
#include "service/sessions/user_account.h"
#include "service/sockets/adoptions.h"
#include "service/worker_crew.h"
#include "session/session_protocol.h"

namespace mrc::service
{

// What all sessions share. Borrowed; outlives them.
struct session_resources {
    const daemon_config &config;
    const fabric_rules &rules;
    kernel::host_tables &tables;
    kernel::client_rows &clients;
    transition_log &log;
    worker_crew &workers;
    port_controls &ports;
    peer_directory &peers;
    control_service &control;
    adoptions &adopted;
    std::uint32_t payload_bytes = 0;
    bool in_program = false; // the daemon is part of one, whose memory it reaches as its own
};

struct owned_domain {
    holding held;
    std::uint32_t users = 0; // regions and queue pairs
};

struct owned_region {
    std::uint32_t pd = 0;
    holding held;
    holding bytes;
    bool shared = false; // copied without calls of the kernel
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
    peer_hold peer;                  // while it is in the worker
    std::uint32_t sends_flushed = 0; // while it is in ERROR without having been in the worker
    std::uint32_t receives_flushed = 0;
    std::uint32_t known = 0;  // which attributes have been set
    std::uint16_t resets = 0; // how often it has been reset
    bool in_worker = false;
};

struct session_state {
    session_state(session_resources with, std::shared_ptr<user_account> of, std::uint32_t numbered)
        : shared{with}, account{std::move(of)}, number{numbered}
    {
    }

    // Whose its queue pairs, regions and completions are.
    [[nodiscard]] datapath::worker &worker() const { return shared.workers[seat.number()]; }

    session_resources shared;
    worker_crew::seat seat;                // since hello
    std::shared_ptr<user_account> account; // what is held here counts there
    std::uint32_t number;                  // of the client
    std::uint32_t last_number = 0;         // of any object but queue pairs and regions

    // Since hello.
    mrc_client_row client{}; // as it was then
    datapath::worker_client *worker_side = nullptr;
    kernel::unique_fd bells;
    std::shared_ptr<const kernel::process_memory> process;
    bool is_own_program = false; // that the daemon is part of

    std::map<std::uint32_t, owned_events> events;
    std::map<std::uint32_t, owned_domain> domains;
    std::map<std::uint32_t, owned_region> regions; // by key
    std::uint64_t registered_bytes = 0;            // of them
    std::uint64_t shared_bytes = 0;                // of those, what is shared
    std::map<std::uint32_t, owned_channel> channels;
    std::map<std::uint32_t, owned_cq> cqs;
    std::map<std::uint32_t, owned_qp> qps;                                               // by QPN
    std::map<std::uint64_t, std::shared_ptr<const datapath::client_pipe>> subscriptions; // to EV events: whom to tell
};

// Of a queue pair that is connected to nobody: its row is taken, and host_rx lets nothing in.
[[nodiscard]] inline mrc_qp_row unconnected_row(const session_state &state, const owned_qp &qp)
{
    mrc_qp_row row{};
    row.qpn = qp.numbers.qpn;
    row.session = state.number;
    return row;
}

// Another `amount` for the client's user; nullopt over the limit.
[[nodiscard]] inline std::optional<holding> take(const session_state &state, resource what, std::uint64_t amount,
                                                 std::uint64_t limit)
{
    return holding::take(state.account, what, amount, limit);
}

} // namespace mrc::service
