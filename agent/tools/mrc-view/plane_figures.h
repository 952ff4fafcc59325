// SPDX-License-Identifier: Apache-2.0
// What a host's planes carry, for the lists and the time lines.
#pragma once

#include <array>
#include <cstdint>

#include "tools/mrc-view/growth.h"

namespace mrc::view
{

// Goodput is counted by queue pair, packets by path: the payload that queue pairs have sent for the first time, or
// placed, is shared among the planes as the bytes of packets are that these carried. The planes' sum is exact.
struct plane_figures {
    double tx_goodput_bits_per_s = 0;
    double rx_goodput_bits_per_s = 0;
    double retransmits_per_s = 0;
    double losses_per_s = 0;
    double rtt_ns = 0; // mean of the smoothed round trips of good paths; 0: none is known
    std::uint32_t paths = 0;
    std::uint32_t good = 0;
};

using plane_table = std::array<plane_figures, MRC_MAX_PORTS>; // by plane

[[nodiscard]] plane_table plane_figures_of(const host_rows &before, const host_rows &now);

} // namespace mrc::view
