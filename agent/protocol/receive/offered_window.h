// SPDX-License-Identifier: Apache-2.0
// Dynamic MPR (protocol.md §1.5, §2.1): the window that SACKs offer, by what this host can take.
//
// of the memory that queue pairs borrow    offered, of the window
// half or more is free                     all
// less is free                             in proportion: nothing is left when nothing is free
//
// and of that the share that the host's load leaves (set by the worker, datapath/receive_overload.h), but one unit of
// 128 packets at the least: a sender always gets on. It binds the sender alone: packets that were under way when the
// offer shrank are taken as before, as long as there is memory for them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "protocol/largest_window.h"
#include "protocol/slab_pool.h"

namespace mrc::protocol
{

inline constexpr unsigned whole_window = 16; // parts that shares are counted in

// In units of 128 packets, as SACKs carry it. `pool`: null where memory is the queue pair's own.
[[nodiscard]] inline std::uint8_t offered_units(std::uint32_t window_psns, unsigned share, const slab_pool *pool)
{
    std::size_t units = std::min<std::size_t>(window_psns / MRC_MPR_UNIT, largest_window_units) * share / whole_window;
    if (pool != nullptr) {
        const std::size_t most = pool->most_bytes();
        const std::size_t free = most - std::min(most, pool->lent_bytes());
        if (free < most / 2)
            units = units * (free / 1024) / std::max<std::size_t>(most / 2048, 1);
    }
    return static_cast<std::uint8_t>(std::max<std::size_t>(units, 1));
}

} // namespace mrc::protocol
