// SPDX-License-Identifier: Apache-2.0
// The daemon's side of one client: answers its requests and owns its queue pairs and memory, all of which end with it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "datapath/unique_fd.h"
#include "datapath/worker.h"
#include "service/config.h"
#include "service/host_ports.h"
#include "service/peer_directory.h"
#include "service/session_protocol.h"

namespace mrc::service
{

// What all sessions share. Borrowed; outlives them.
struct session_resources {
    const daemon_config &config;
    const fabric &rules;
    datapath::host_programs &programs;
    datapath::worker &worker;
    host_ports &ports;
    peer_directory &peers;
    std::uint32_t payload_bytes = 0;
};

class client_session
{
public:
    client_session(session_resources shared, datapath::unique_fd socket);
    client_session(const client_session &) = delete;
    client_session &operator=(const client_session &) = delete;
    ~client_session(); // queue pairs first, then memory

    [[nodiscard]] int fd() const { return socket_.get(); }

    // Reads and answers one request. False when the client has gone or broke the protocol: end the session.
    bool serve();

private:
    // A queue pair that is created, and perhaps connected: then the worker holds the rest.
    struct owned_qp {
        qp_reply numbers{};
        datapath::unique_fd rings;
        datapath::unique_fd completion_wait;  // the client's end of the pipe
        datapath::unique_fd completion_event; // the worker's end, until it is connected
        bool connected = false;
    };
    struct answer {
        session_reply reply;
        std::vector<int> fds;
    };

    answer handle(const session_request &request, datapath::unique_fd fd);
    answer hello();
    answer register_memory(const memory_request &request, const datapath::unique_fd &file);
    answer deregister_memory(std::uint32_t key);
    answer create_qp(const create_request &request);
    answer connect_qp(const connect_request &request);
    answer query_qp(std::uint32_t qpn);
    answer reset_progress(std::uint32_t qpn);
    answer destroy_qp(std::uint32_t qpn);
    answer query_status();

    std::unique_ptr<datapath::worker_qp> build_qp(owned_qp &qp, const connect_request &request,
                                                  const datapath::worker_peer &peer);
    void fill_paths(qp_report &report, const protocol::path_group &paths);
    void release_qp(const owned_qp &qp);
    [[nodiscard]] std::uint32_t free_qpn() const;

    session_resources shared_;
    datapath::unique_fd socket_;
    std::map<std::uint32_t, owned_qp> qps_; // by number
    std::vector<std::uint32_t> keys_;
};

} // namespace mrc::service
