// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/lossy_planes.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "kernel/monotonic_clock.h"

namespace mrc::service
{

namespace
{

constexpr std::chrono::milliseconds follow_interval{100};

} // namespace

lossy_planes::lossy_planes(boost::asio::io_context &context, const fabric_map_options &options, surroundings around)
    : around_{std::move(around)}, policy_{options.min_planes}, timer_{context}
{
}

void lossy_planes::on_change(const link_change &change)
{
    if (change.way.spine)
        return;
    policy_.on_link(change.way.plane, change.verdict.state, change.at);
    follow();
}

void lossy_planes::follow()
{
    const protocol::plane_mask left = policy_.left(around_.usable(), kernel::monotonic_now());
    for (std::uint8_t number = 0; number < MRC_MAX_PORTS; ++number) {
        const protocol::plane_index plane{number};
        if (left.has(plane) == left_.has(plane))
            continue;
        around_.write(
            log_level::warning,
            fmt::format("plane {}: {} ([fabric_map] deny_lossy)", number,
                        left.has(plane) ? "not used while the link of its port loses packets" : "may be used again"));
        around_.leave(plane, left.has(plane));
    }
    left_ = left;
    if (!policy_.is_waiting())
        return;
    timer_.expires_after(follow_interval);
    timer_.async_wait([this](const boost::system::error_code &error) {
        if (!error)
            follow();
    });
}

} // namespace mrc::service
