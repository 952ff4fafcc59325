// SPDX-License-Identifier: Apache-2.0
// What a worker counts of itself; read by the service thread through worker::call().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mrc/abi/maps.h"
#include "protocol/duration_histogram.h"

namespace mrc::datapath
{

using verdict_counts = std::array<std::uint64_t, MRC_VERDICT_COUNT>;

struct worker_counters {
    std::uint64_t loops = 0;
    std::uint64_t sleeps = 0;
    std::uint64_t received = 0;       // from the ports
    std::uint64_t backlogged = 0;     // of these, waited for longer than worker_options::backlog_mark
    std::uint64_t reported = 0;       // rows of paths and of active queue pairs
    verdict_counts drops{};           // MRC_AGENT_*
    protocol::duration_histogram lag; // of packets, from host_rx to the round that takes them

    // But for the histogram, of which each worker's is shown by itself.
    worker_counters &operator+=(const worker_counters &other)
    {
        loops += other.loops;
        sleeps += other.sleeps;
        received += other.received;
        backlogged += other.backlogged;
        reported += other.reported;
        for (std::size_t row = 0; row < drops.size(); ++row)
            drops[row] += other.drops[row];
        return *this;
    }
};

} // namespace mrc::datapath
