// SPDX-License-Identifier: Apache-2.0
// The choice of transport and its parameters, as a scenario states them.
#pragma once

#include <cstdint>

#include "sim/sim_time.h"

namespace mrc::sim
{

enum class transport_kind : std::uint8_t { mrc, roce };
enum class congestion_kind : std::uint8_t { nscc, fixed };
enum class selector_kind : std::uint8_t { mrc, oblivious, reps, single_path };

struct transport_config {
    transport_kind kind = transport_kind::mrc;
    unsigned qps = 1; // per flow
    std::uint32_t payload = 4096;
    // MRC
    congestion_kind congestion = congestion_kind::nscc;
    selector_kind selector = selector_kind::mrc;
    double window = 1.5; // of a host's bandwidth-delay product, for the fixed window
    std::uint32_t window_psns = 1024;
    unsigned active_paths = 0; // per plane; 0: all
    std::uint8_t timeout = 5;  // T = 1.024 us * 2^timeout
    picoseconds probe_interval = 5 * millisecond;
    // RoCE
    bool dcqcn = true;
    picoseconds roce_timeout = 500 * microsecond;
};

} // namespace mrc::sim
