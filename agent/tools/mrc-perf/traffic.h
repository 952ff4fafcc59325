// SPDX-License-Identifier: Apache-2.0
// What the daemon has counted for the queue pairs of a run.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include <boost/json/object.hpp>

#include "mrc/report.h"
#include "tools/mrc-perf/device.h"

namespace mrc::perf
{

// Sums over queue pairs. What they share (path states, packets per plane) is taken once; packets per plane are of all
// that this host exchanges with the peer's leaf.
struct traffic {
    std::uint64_t tx_packets = 0, tx_bytes = 0, retransmits = 0, spurious = 0, timeouts = 0, losses = 0, nacks = 0;
    std::uint64_t rx_packets = 0, rx_bytes = 0, rx_duplicates = 0, rx_refused = 0;
    std::uint64_t sacks_sent = 0, sacks_received = 0;
    std::uint64_t cwnd_bytes = 0;
    std::uint64_t longest_stall_us = 0;
    std::uint64_t smoothed_rtt_ns = 0;
    std::uint32_t paths_good = 0, paths_skip = 0, paths_kept = 0, paths_assumed_bad = 0, paths_denied = 0;
    [[nodiscard]] std::uint32_t paths_in_use() const { return paths_good + paths_skip + paths_kept; }
    [[nodiscard]] std::uint32_t paths() const { return paths_in_use() + paths_assumed_bad + paths_denied; }
    std::uint32_t planes = 0;
    std::array<std::uint32_t, MRC_REPORT_MAX_PLANES> plane_tx_packets{};
    std::array<std::uint32_t, MRC_REPORT_MAX_PLANES> plane_rx_packets{};
    mrc_host_report host{}; // of the whole daemon
};

// Throws perf_error.
[[nodiscard]] traffic traffic_of(std::span<const qp_handle> qps);
// What has been counted since `first`; states and times stay as they are now.
[[nodiscard]] traffic since(const traffic &first, traffic now);
[[nodiscard]] boost::json::object to_json(const traffic &counted);

// The longest payload of a packet that this queue pair sends.
[[nodiscard]] std::uint32_t payload_bytes_of(mrc_qp *qp);
void reset_stall_of(mrc_qp *qp);

} // namespace mrc::perf
