// SPDX-License-Identifier: Apache-2.0
// What a client has in the worker: completion rings, queue pairs, bells. Built by the service thread, then handed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "datapath/carrier.h"
#include "datapath/client_pipe.h"
#include "datapath/completion_ring.h"
#include "datapath/deadline_heap.h"
#include "datapath/linked_list.h"
#include "datapath/posted_sends.h"
#include "datapath/probe_targets.h"
#include "datapath/region_table.h"
#include "kernel/unique_fd.h"
#include "protocol/congestion/congestion_control.h"
#include "protocol/queue_pair.h"
#include "session/work_ring.h"

namespace mrc::datapath
{

struct worker_client;
struct waiting_room;
struct window_line;

// Everything of one queue pair that lives in the worker.
struct worker_qp {
    protocol::qpn number;
    worker_client *client = nullptr;
    std::uint32_t bell = 0;              // its bit in the client's bell page
    std::uint16_t resets = 0;            // how often it had been reset
    protocol::qpn peer_number;           // of the peer's queue pair
    worker_peer peer;                    // its path group is shared by all QPs to the same T0 and outlives the QP
    mrc_ip address{};                    // of the peer, by which the QP is connected
    plane_addresses sources{};           // of the peer: what its packets come from, by plane
    std::unique_ptr<region_view> memory; // what it may read and write; outlives `protocol`
    std::unique_ptr<protocol::congestion_control> own_congestion; // unless the peer's QPs share one
    protocol::congestion_control *congestion = nullptr;
    std::unique_ptr<protocol::queue_pair> protocol;
    session::ring_view<session::send_entry> sends; // their memory is the session's, and outlives the QP
    session::ring_view<session::receive_entry> receives;
    std::unique_ptr<posted_sends> posted;
    completion_ring *send_completions = nullptr;
    completion_ring *receive_completions = nullptr;
    std::shared_ptr<const client_pipe> events;
    std::uint32_t received = 0;   // receive requests completed
    std::int64_t allowance = 0;   // bytes that it may send in this turn
    std::size_t place = 0;        // the queue pair table's
    std::size_t active_place = 0; // in the client's list
    list_links<worker_qp> idle;   // resting_queue_pairs.h
    protocol::instant idle_since;
    list_links<worker_qp> waiting; // waiting_queue_pairs.h
    waiting_room *room = nullptr;
    list_links<worker_qp> before_window; // crowded_windows.h
    window_line *line = nullptr;
    protocol::window_wish wish;
    list_links<worker_qp> unreported; // map_reporter.h
    deadline_place deadline;          // deadline_heap.h
    bool active = false;              // in the client's list
    bool failure_reported = false;    // as an event
    bool drain_reported = false;
    bool failure_told = false; // to the service thread
};

struct worker_client {
    std::uint32_t number = 0;
    kernel::mapping bell_memory;
    kernel::unique_fd doorbell;       // its own: who holds an eventfd can take its signals from all who wait for it
    std::vector<worker_qp *> by_bell; // null where there is none
    std::vector<worker_qp *> active;  // those with something to do; room for all
    std::size_t turn = 0;             // whose of them it is
    std::int64_t allowance = 0;       // bytes that the client may send in this turn
    bool listed = false;              // among the worker's active clients
    std::size_t listed_place = 0;

    [[nodiscard]] session::bell_page &bells() { return *static_cast<session::bell_page *>(bell_memory.get()); }
};

} // namespace mrc::datapath
