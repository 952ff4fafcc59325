// SPDX-License-Identifier: Apache-2.0
// What a client and the daemon say to each other over the UNIX socket (SOCK_SEQPACKET, one request or reply a packet).
// File descriptors travel beside the packet (SCM_RIGHTS). Everything after set-up goes through shared memory.
#pragma once

#include <cstdint>

#include "mrc/maps.h"

namespace mrc::service
{

inline constexpr std::uint32_t session_version = 1;

enum class request_kind : std::uint32_t {
    hello = 1,         // → hello_reply; fds: doorbell eventfd, worker status page
    register_memory,   // fd: sealed memfd → memory_reply
    deregister_memory, // key
    create_qp,         // → qp_reply; fds: shared rings, completion pipe
    connect_qp,        // qpn and the peer's side
    query_qp,          // qpn → qp_report
    reset_progress,    // qpn: the stall clock starts anew
    destroy_qp,        // qpn
    query_status,      // → status_report
};

struct memory_request {
    std::uint64_t va;     // the client's address of the range
    std::uint64_t length; // bytes, at most the memfd's size - offset
    std::uint64_t offset; // in the memfd
    std::uint32_t access; // datapath::region_access
    std::uint32_t reserved;
};

struct create_request {
    std::uint32_t send_depth; // a power of two, 1…65536
    std::uint32_t reserved;
};

struct connect_request {
    std::uint32_t qpn;
    std::uint32_t peer_qpn;
    std::uint32_t peer_psn;    // first PSN that the peer sends
    std::uint32_t timeout;     // 0…24; the retry parameters of mrc_qp_attr
    std::uint32_t linear;      // 0…7
    std::uint32_t exponential; // 0…25
    mrc_ip peer;
};

struct session_request {
    std::uint32_t version = session_version;
    request_kind kind = request_kind::hello;
    union {
        memory_request memory;
        create_request create;
        connect_request connect;
        std::uint32_t key;
        std::uint32_t qpn;
        std::uint8_t room[120];
    };
    session_request() : room{} {}
};
static_assert(sizeof(session_request) == 128);

struct hello_reply {
    mrc_ip address;              // the host's MRC address
    std::uint32_t payload_bytes; // per packet
    std::uint32_t planes;
    char instance[64];
};

struct qp_reply {
    std::uint32_t qpn;
    std::uint32_t first_psn;
    std::uint32_t send_depth;
    std::uint32_t completion_depth;
};

// Cumulative since the QP was created, except the stall, and except paths_* and plane_*: these are of the path group
// that all QPs to the same leaf share, since the daemon started, control packets included.
struct qp_report {
    std::uint64_t rx_packets, rx_bytes, rx_duplicates, rx_refused;
    std::uint64_t tx_packets, tx_bytes, retransmits, spurious, timeouts, losses, nacks;
    std::uint64_t sacks_sent, sacks_received;
    std::uint64_t longest_stall_ns; // between two arrivals of new payload, since reset_progress
    std::uint64_t smoothed_rtt_ns;
    std::uint64_t cwnd_bytes;
    std::uint32_t state; // protocol::qp_state
    std::uint32_t paths_good;
    std::uint32_t paths_skip;
    std::uint32_t paths_assumed_bad;
    std::uint32_t paths_denied;
    std::uint32_t planes;
    std::uint64_t plane_tx_packets[MRC_MAX_PORTS];
    std::uint64_t plane_rx_packets[MRC_MAX_PORTS];
};

struct status_report {
    std::uint64_t received; // frames taken from AF_XDP
    std::uint64_t dropped;  // of these, by the agent, all reasons
    std::uint64_t bad_icrc;
    std::uint64_t transmit_sent;
    std::uint64_t transmit_refused;
    std::uint64_t socket_dropped; // by AF_XDP sockets for lack of room
    std::uint64_t worker_loops;
    std::uint64_t worker_sleeps;
    std::uint32_t plane_mask;
    std::uint32_t qps;
};

struct session_reply {
    std::int32_t error = 0; // errno; 0 = done
    std::uint32_t reserved = 0;
    char text[120] = {}; // when error != 0: what was wrong and what is allowed
    union {
        hello_reply hello;
        std::uint32_t key; // memory_reply
        qp_reply qp;
        qp_report report;
        status_report status;
        std::uint8_t room[384];
    };
    session_reply() : room{} {}
};
static_assert(sizeof(session_reply) == 512);

} // namespace mrc::service
