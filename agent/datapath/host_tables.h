// SPDX-License-Identifier: Apache-2.0
// What the host's BPF programs and the agent tell each other, as those see it who need no program: arrays of rows, and
// the rows of peers. Tests make them of any memory.
#pragma once

#include "datapath/mapped_array.h"
#include "mrc/maps.h"

namespace mrc::datapath
{

struct host_tables {
    mapped_array<mrc_host> host;
    mapped_array<mrc_port> ports;
    mapped_array<mrc_path> paths;
    mapped_array<mrc_signal> signals;
    mapped_array<mrc_qp> qps;
    mapped_array<mrc_overlay> overlay;
};

class peer_rows
{
public:
    peer_rows() = default;
    peer_rows(const peer_rows &) = delete;
    peer_rows &operator=(const peer_rows &) = delete;
    virtual ~peer_rows() = default;

    // False when all MRC_MAX_PEERS rows are in use.
    [[nodiscard]] virtual bool set_peer(const mrc_ip &address, const mrc_peer &peer) = 0;
    virtual void remove_peer(const mrc_ip &address) = 0;
    // Planes on which a peer can be reached; from any thread.
    virtual void set_peer_planes(const mrc_ip &address, std::uint8_t planes) = 0;
};

} // namespace mrc::datapath
