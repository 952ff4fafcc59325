// SPDX-License-Identifier: Apache-2.0
// What a worker without thread and sockets stands on: maps in memory, and an engine that takes every packet of every
// port.
#pragma once

#include <memory>
#include <vector>

#include "datapath/worker.h"
#include "unit/datapath/queue_pair_in_memory.h"
#include "unit/datapath/table_in_memory.h"

namespace mrc::test
{

// Outlives the worker.
struct worker_surroundings {
    kernel::mapped_array<mrc_path_row> paths = table_in_memory<mrc_path_row>(MRC_USUAL_PATHS);
    kernel::mapped_array<mrc_qp_row> qps = table_in_memory<mrc_qp_row>(MRC_MAX_QPS);
    kernel::mapped_array<mrc_overlay_row> overlay = table_in_memory<mrc_overlay_row>(MRC_MAX_GROUPS);
    std::vector<std::unique_ptr<kernel::xsk_socket_pair>> sockets;
    counting_engine engine;

    // Nobody is told of anything.
    [[nodiscard]] datapath::worker::resources resources()
    {
        return {.sockets = &sockets,
                .engines = std::vector<datapath::transmit_engine *>(MRC_MAX_PORTS, &engine),
                .paths = &paths,
                .qps = &qps,
                .overlay = &overlay,
                .write_verdict = datapath::per_cpu_writer(-1),
                .on_peer_change = {},
                .on_path_state = {},
                .on_batch_done = {}};
    }
};

} // namespace mrc::test
