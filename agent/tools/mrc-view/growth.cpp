// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-view/growth.h"

#include <algorithm>

namespace mrc::view
{

namespace
{

bool is_same_path(const mrc_path_row &a, const mrc_path_row &b)
{
    return a.group == b.group && a.plane == b.plane && a.uplink == b.uplink;
}

path_growth growth_of(const numbered_path &then, const numbered_path &now)
{
    return {.now = now,
            .tx_packets = ctl::grown(then.path.tx_packets, now.path.tx_packets),
            .tx_bytes = ctl::grown(then.path.tx_bytes, now.path.tx_bytes),
            .rx_bytes = ctl::grown(then.signal.bytes, now.signal.bytes),
            .retransmits = ctl::grown(then.path.retransmits, now.path.retransmits),
            .losses = ctl::grown(then.path.losses, now.path.losses)};
}

} // namespace

std::vector<path_growth> growth_between(const host_rows &before, const host_rows &after)
{
    std::vector<path_growth> all;
    all.reserve(after.paths.size());
    for (const numbered_path &now : after.paths) {
        const auto then = std::ranges::lower_bound(before.paths, now.number, {}, &numbered_path::number);
        const bool is_known =
            then != before.paths.end() && then->number == now.number && is_same_path(then->path, now.path);
        all.push_back(growth_of(is_known ? *then : numbered_path{}, now));
    }
    return all;
}

double seconds_between(const host_rows &before, const host_rows &after)
{
    return static_cast<double>(after.counters.time_ns - before.counters.time_ns) * 1e-9;
}

} // namespace mrc::view
