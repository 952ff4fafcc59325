// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/plane_figures.h"

#include <utility>

namespace mrc::view
{

namespace
{

struct plane_sums {
    double tx_bytes = 0;
    double rx_bytes = 0;
    double retransmits = 0;
    double losses = 0;
    double rtt_ns = 0;
    std::uint32_t timed = 0; // paths with a round-trip time
};

// Of all queue pairs that there were at both ends of the interval: sent and placed.
std::pair<double, double> payload_between(const host_rows &before, const host_rows &now)
{
    double tx = 0;
    double rx = 0;
    for (const auto &[qpn, qp] : now.counters.qps) {
        const auto then = before.counters.qps.find(qpn);
        if (then == before.counters.qps.end())
            continue;
        tx += static_cast<double>(ctl::grown(then->second.tx_bytes, qp.tx_bytes));
        rx += static_cast<double>(ctl::grown(then->second.rx_bytes, qp.rx_bytes));
    }
    return {tx, rx};
}

double share(double of, double all)
{
    return all > 0 ? of / all : 0;
}

} // namespace

plane_table plane_figures_of(const host_rows &before, const host_rows &now)
{
    plane_table table{};
    std::array<plane_sums, MRC_MAX_PORTS> sums{};
    plane_sums all;
    for (const path_growth &path : growth_between(before, now)) {
        const std::uint32_t plane = path.now.path.plane % MRC_MAX_PORTS;
        plane_sums &sum = sums[plane];
        const bool good = path.now.path.state == MRC_PATH_GOOD;
        ++table[plane].paths;
        table[plane].good += good ? 1 : 0;
        sum.tx_bytes += static_cast<double>(path.tx_bytes);
        sum.rx_bytes += static_cast<double>(path.rx_bytes);
        sum.retransmits += static_cast<double>(path.retransmits);
        sum.losses += static_cast<double>(path.losses);
        if (good && path.now.signal.rtt_smoothed_ns != 0) {
            sum.rtt_ns += path.now.signal.rtt_smoothed_ns;
            ++sum.timed;
        }
        all.tx_bytes += static_cast<double>(path.tx_bytes);
        all.rx_bytes += static_cast<double>(path.rx_bytes);
    }
    const double seconds = seconds_between(before, now);
    const auto [tx, rx] = payload_between(before, now);
    for (std::uint32_t plane = 0; plane < MRC_MAX_PORTS && seconds > 0; ++plane) {
        const plane_sums &sum = sums[plane];
        table[plane].tx_goodput_bits_per_s = 8 * tx * share(sum.tx_bytes, all.tx_bytes) / seconds;
        table[plane].rx_goodput_bits_per_s = 8 * rx * share(sum.rx_bytes, all.rx_bytes) / seconds;
        table[plane].retransmits_per_s = sum.retransmits / seconds;
        table[plane].losses_per_s = sum.losses / seconds;
        table[plane].rtt_ns = sum.timed == 0 ? 0 : sum.rtt_ns / sum.timed;
    }
    return table;
}

} // namespace mrc::view
