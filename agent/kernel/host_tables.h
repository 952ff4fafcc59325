// SPDX-License-Identifier: Apache-2.0
// What the host's BPF programs, the agent and operators tell each other, as those see it who need no program: arrays of
// rows, and the rows of peers and of clients. Tests make them of any memory.
#pragma once

#include "kernel/mapped_array.h"
#include "mrc/abi/maps.h"

namespace mrc::kernel
{

struct host_tables {
    mapped_array<mrc_host_row> host;
    mapped_array<mrc_port_row> ports;
    mapped_array<mrc_next_hop_row> next_hops;
    mapped_array<mrc_path_row> paths;
    mapped_array<mrc_signal_row> signals;
    mapped_array<mrc_qp_row> qps;
    mapped_array<mrc_overlay_row> overlay;
    mapped_array<mrc_loop_row> loops;
    mapped_array<mrc_loop_arrival> loop_arrivals;
    mapped_array<mrc_fault_row> fabric_faults;
    mapped_array<mrc_event_row> events;
    mapped_array<mrc_worker_row> workers;
};

class peer_rows
{
public:
    peer_rows() = default;
    peer_rows(const peer_rows &) = delete;
    peer_rows &operator=(const peer_rows &) = delete;
    virtual ~peer_rows() = default;

    // False when all rows are in use.
    [[nodiscard]] virtual bool set_peer(const mrc_ip &address, const mrc_peer_row &peer) = 0;
    virtual void remove_peer(const mrc_ip &address) = 0;
    // Planes on which a peer can be reached; from any thread.
    virtual void set_peer_planes(const mrc_ip &address, std::uint8_t planes) = 0;

    // Which rows of `paths` are in use, by the first of a group. False when there is no memory: it is not listed.
    virtual bool set_paths(std::uint32_t first_row, const mrc_paths_in_use &paths) = 0;
    virtual void remove_paths(std::uint32_t first_row) = 0;
};

// By the number of the session.
class client_rows
{
public:
    client_rows() = default;
    client_rows(const client_rows &) = delete;
    client_rows &operator=(const client_rows &) = delete;
    virtual ~client_rows() = default;

    // False when all rows are in use.
    [[nodiscard]] virtual bool set_client(std::uint32_t session, const mrc_client_row &client) = 0;
    virtual void remove_client(std::uint32_t session) = 0;

    // Which rows of `qps` are in use, by their number. False when there is no memory: it is not listed.
    virtual bool set_queue_pair(std::uint32_t row, const mrc_qp_in_use &qp) = 0;
    virtual void remove_queue_pair(std::uint32_t row) = 0;
};

} // namespace mrc::kernel
