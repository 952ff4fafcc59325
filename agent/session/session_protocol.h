// SPDX-License-Identifier: Apache-2.0
// What a client and the daemon say to each other over the UNIX socket (SOCK_SEQPACKET, one request or reply a packet).
// File descriptors travel beside the packet (SCM_RIGHTS). Everything after set-up goes through shared memory
// (session/work_ring.h). Objects are named by numbers of the client's own session, queue pairs by their QPN.
#pragma once

#include <cstdint>
#include <string_view>

#include "mrc/abi/ip.h"

namespace mrc::session
{

// A request names the version that it came with, so a library and a daemon of different releases speak as long as
// neither asks for what the other lacks. New requests, and values for fields that were reserved, raise session_version.
// Whatever changes what was there before, in the shared memory of work_ring.h, too, raises both.
inline constexpr std::uint32_t session_version = 4;
inline constexpr std::uint32_t oldest_session_version = 4;
inline constexpr std::uint32_t first_control_kind = 0x100;    // from here on: control_protocol.h
inline constexpr std::uint32_t ev_event_queue_bit = 1U << 31; // in a channel's records: a subscription to EV events
inline constexpr unsigned int max_planes =
    8; // MRC_MAX_PORTS; mrc/abi/maps.h has names of its own for what mrc.h calls the same

enum class request_kind : std::uint32_t {
    hello = 1,         // fd: the client's /proc/self/mem, if it can open it → host_reply; fds: doorbell eventfd, worker
                       // status page, bell page
    describe,          // → host_reply; also before hello: it begins no session
    open_events,       // → number; fd: pipe of session::event_record. Device and port events go to all of them
    close_events,      // number
    allocate_pd,       // → number
    deallocate_pd,     // number; EBUSY while regions or queue pairs use it
    register_memory,   // fd: sealed memfd, or none: memory of the client's process → number (lkey and rkey)
    deregister_memory, // number: the key
    create_channel,    // → number; fd: pipe of session::event_record whose number is the CQ's
    destroy_channel,   // number; EBUSY while a CQ uses it
    create_cq,         // → cq_reply; fd: its memory
    destroy_cq,        // number; EBUSY while queue pairs use it
    create_qp,         // → qp_reply; fd: its rings
    modify_qp,         // → qp_attributes as they are now
    query_qp,          // qpn → qp_attributes
    destroy_qp,        // qpn
    report_qp,         // qpn → qp_report
    reset_progress,    // qpn: the stall clock starts anew
    query_status,      // → status_report
    // Ordinary sockets; also before hello: they take no client.
    adopt_cgroup,  // fd: the cgroup's directory → adoption_reply
    list_adopted,  // number: counted from 0 → adoption_reply; ENOENT behind the last
    undo_adoption, // number: the adoption's
};

// In words, for a library to say which of its requests an older daemon does not know.
constexpr std::string_view name_of(request_kind kind)
{
    switch (kind) {
    case request_kind::hello:
        return "hello";
    case request_kind::describe:
        return "describe";
    case request_kind::open_events:
        return "open events";
    case request_kind::close_events:
        return "close events";
    case request_kind::allocate_pd:
        return "allocate pd";
    case request_kind::deallocate_pd:
        return "deallocate pd";
    case request_kind::register_memory:
        return "register memory";
    case request_kind::deregister_memory:
        return "deregister memory";
    case request_kind::create_channel:
        return "create channel";
    case request_kind::destroy_channel:
        return "destroy channel";
    case request_kind::create_cq:
        return "create cq";
    case request_kind::destroy_cq:
        return "destroy cq";
    case request_kind::create_qp:
        return "create qp";
    case request_kind::modify_qp:
        return "modify qp";
    case request_kind::query_qp:
        return "query qp";
    case request_kind::destroy_qp:
        return "destroy qp";
    case request_kind::report_qp:
        return "report qp";
    case request_kind::reset_progress:
        return "reset progress";
    case request_kind::query_status:
        return "query status";
    case request_kind::adopt_cgroup:
        return "adopt cgroup";
    case request_kind::list_adopted:
        return "list adopted";
    case request_kind::undo_adoption:
        return "undo adoption";
    }
    return "";
}

// What a region allows. Any may be read by its owner (to send it); MRC has no remote reads.
inline constexpr std::uint32_t access_local_read = 0;
inline constexpr std::uint32_t access_remote_write = 1;
inline constexpr std::uint32_t access_local_write = 2;

struct memory_request {
    std::uint64_t address; // in the client
    std::uint64_t length;  // bytes
    std::uint64_t iova;    // what peers and work requests call `address`
    std::uint64_t offset;  // in the memfd
    std::uint32_t pd;
    std::uint32_t access; // access_… bits
};

struct cq_request {
    std::uint32_t entries;
    std::uint32_t channel; // 0: none
    std::uint32_t events;  // where its errors are told
    std::uint32_t reserved;
};

struct qp_request {
    std::uint32_t pd;
    std::uint32_t send_cq;
    std::uint32_t receive_cq;
    std::uint32_t events; // where its errors are told
    std::uint32_t send_depth;
    std::uint32_t receive_depth;
    std::uint32_t most_pieces;
    std::uint32_t most_inline;
};

inline constexpr std::uint32_t adoption_binds = 1;        // bind() is mapped as well
inline constexpr std::uint32_t adoption_ends_with_me = 2; // with this connection

struct adopt_request {
    std::uint32_t flags; // adoption_… bits
};

// Which of qp_attributes a request sets.
enum qp_attribute_mask : std::uint32_t {
    qp_sets_state = 1U << 0,
    qp_asserts_state = 1U << 1, // current_state is what the client takes it to be
    qp_sets_access = 1U << 2,
    qp_sets_peer = 1U << 3, // peer_qpn, peer address
    qp_sets_receive_psn = 1U << 4,
    qp_sets_send_psn = 1U << 5,
    qp_sets_mtu = 1U << 6,
    qp_sets_mpr = 1U << 7,
    qp_sets_mpr_dest = 1U << 8,
    qp_sets_max_wimm = 1U << 9,
    qp_sets_max_wimm_dest = 1U << 10,
    qp_sets_timeout = 1U << 11,
    qp_sets_retries = 1U << 12,
    qp_sets_ev_profile = 1U << 13,
    qp_sets_cc_profile = 1U << 14,
    qp_sets_capabilities = 1U << 15,
    qp_sets_hint = 1U << 16,
};

// What the peer of a queue pair can do, with the numbers of enum mrc_qp_cap (mrc.h).
enum qp_capability : std::uint32_t {
    qp_peer_lacks_trim_nack = 1U << 0,    // it does not answer trimmed packets
    qp_dynamic_mpr = 1U << 1,             // the receive window may change; in effect when both ends say so
    qp_peer_lacks_service_time = 1U << 2, // its time stamps include how long an answer waited
    qp_all_capabilities = 7,
};

struct qp_attributes {
    std::uint32_t qpn;
    std::uint32_t mask; // qp_attribute_mask; 0 in replies
    std::uint8_t state; // protocol::qp_state
    std::uint8_t current_state;
    std::uint8_t mpr;         // units of MRC_MPR_UNIT PSNs
    std::uint8_t mpr_dest;    // the same
    std::uint8_t timeout;     // 0…24
    std::uint8_t linear;      // 0…7
    std::uint8_t exponential; // 0…25
    std::uint8_t draining;
    std::uint16_t max_wimm;
    std::uint16_t max_wimm_dest;
    std::uint32_t access; // access_… bits
    std::uint32_t peer_qpn;
    std::uint32_t receive_psn;   // first PSN that the peer sends
    std::uint32_t send_psn;      // first PSN that this end sends
    std::uint32_t payload_bytes; // per packet; the daemon lowers it to what the path carries
    std::uint32_t capabilities;  // qp_capability
    // A hint, zeros without one; each at most what 16 bits hold.
    std::uint16_t senders_here;      // QPs that send to one peer at a time from here
    std::uint16_t senders_elsewhere; // and meanwhile from other hosts
    std::uint16_t receivers;         // peers that are sent to at a time from here
    std::uint16_t reserved;
    std::uint64_t ev_profile;
    std::uint64_t cc_profile;
    mrc_ip peer;
};
static_assert(sizeof(qp_attributes) == 88);

struct session_request {
    std::uint32_t version = oldest_session_version; // that has this request
    request_kind kind = request_kind::hello;
    union {
        memory_request memory;
        cq_request cq;
        qp_request create;
        qp_attributes qp;
        adopt_request adopt;
        std::uint32_t number;
        std::uint8_t room[120];
    };
    session_request() : room{} {}
};
static_assert(sizeof(session_request) == 128);

struct port_reply {
    std::uint8_t up;      // packets can leave and arrive
    std::uint8_t enabled; // administrative state
    std::uint16_t mtu;
    std::uint32_t gbps; // 0: unknown
};

struct host_reply {
    mrc_ip address;              // the host's MRC address
    mrc_ip address4;             // its IPv4 address, mapped; unspecified without one
    std::uint32_t payload_bytes; // per packet
    std::uint32_t planes;
    std::uint64_t guid;
    port_reply ports[max_planes];
    std::uint32_t max_qps; // limits of one client
    std::uint32_t max_regions;
    std::uint64_t max_bytes; // registered
    std::uint32_t max_cqs;
    std::uint32_t max_cq_entries; // of one CQ
    std::uint32_t max_requests;   // of one queue
    std::uint32_t max_pieces;
    std::uint32_t max_inline;
    std::uint32_t max_mpr; // units of MRC_MPR_UNIT
    std::uint32_t max_wimm;
    std::uint32_t process_memory; // the daemon reaches any memory of this client
    char instance[64];
};

struct cq_reply {
    std::uint32_t number;
    std::uint32_t entries; // a power of two
};

struct qp_reply {
    std::uint32_t qpn;
    std::uint32_t bell; // its bit in the bell page
    std::uint32_t send_depth;
    std::uint32_t receive_depth;
    std::uint32_t most_pieces;
    std::uint32_t most_inline;
};

// Cumulative since the QP was created, except the stall, and except paths_* (each path once) and plane_*: these are of
// the path group that all QPs to the same leaf share, since the daemon started, control packets included.
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
    std::uint32_t payload_bytes; // of a full packet that this end sends
    std::uint32_t paths_kept;
    std::uint64_t plane_tx_packets[max_planes];
    std::uint64_t plane_rx_packets[max_planes];
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
    std::uint64_t backlogged; // of the received, waited for the worker for longer than transport.backlog_mark_us
    std::uint32_t plane_mask;
    std::uint32_t qps;
};

struct adoption_reply {
    std::uint32_t number;
    std::uint32_t flags; // adoption_… bits
    std::uint32_t uid;   // who asked for it
    std::uint32_t pid;
    std::uint64_t cgroup;       // its id
    std::uint64_t netns_cookie; // of the daemon: sockets of other network namespaces are not mapped
    std::uint64_t connections, datagrams, binds, silent, bound; // as in mrc_adopted_row
    char path[256];                                             // of the cgroup; cut, when it is longer
};

struct session_reply {
    std::int32_t error = 0; // errno; 0 = done
    std::uint32_t reserved = 0;
    char text[120] = {}; // when error != 0: what was wrong and what is allowed
    union {
        host_reply host;
        std::uint32_t number;
        cq_reply cq;
        qp_reply qp;
        qp_attributes attributes;
        qp_report report;
        status_report status;
        adoption_reply adoption;
        std::uint8_t room[384];
    };
    session_reply() : room{} {}
};
static_assert(sizeof(session_reply) == 512);

} // namespace mrc::session
