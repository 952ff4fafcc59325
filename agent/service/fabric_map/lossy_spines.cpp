// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/lossy_spines.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernel/monotonic_clock.h"

namespace mrc::service
{

namespace
{

constexpr std::chrono::milliseconds spine_follow_interval{100};

std::string line_of_left(const left_path &path, std::string_view what)
{
    const std::string to = path.leaf == MRC_FAULT_NOWHERE ? std::string{} : fmt::format(" toward leaf {}", path.leaf);
    return fmt::format("spine {} of plane {}{}: {} ([fabric_map] deny_lossy)", path.uplink, path.plane, to, what);
}

} // namespace

lossy_spines::lossy_spines(boost::asio::io_context &context, std::uint32_t own_leaf, surroundings around)
    : around_{std::move(around)}, policy_{own_leaf}, timer_{context}
{
}

void lossy_spines::on_fault(const fault_change &change)
{
    policy_.on_fault(change);
    follow();
}

void lossy_spines::follow()
{
    std::set<left_path> left = policy_.left(kernel::monotonic_now());
    if (left != left_) {
        std::vector<left_path> changed;
        std::ranges::set_symmetric_difference(left, left_, std::back_inserter(changed));
        for (const left_path &path : changed)
            around_.write(log_level::warning,
                          line_of_left(path, left.contains(path) ? "not used while packets that cross it are lost"
                                                                 : "may be used again"));
        left_ = std::move(left);
        around_.leave(left_);
    }
    if (!policy_.is_waiting())
        return;
    timer_.expires_after(spine_follow_interval);
    timer_.async_wait([this](const boost::system::error_code &error) {
        if (!error)
            follow();
    });
}

} // namespace mrc::service
