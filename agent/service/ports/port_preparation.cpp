// SPDX-License-Identifier: Apache-2.0
#include "service/ports/port_preparation.h"

#include <algorithm>
#include <ranges>
#include <vector>

#include <fmt/format.h>

#include "kernel/startup_error.h"
#include "mrc/abi/maps.h"
#include "service/log.h"

namespace mrc::service
{

namespace
{

// Of both kinds together so many receive; those of its own kind first, as a combined one also sends.
std::vector<std::uint32_t> with_receivers(std::vector<std::uint32_t> channels, std::uint32_t queues)
{
    if (channels.empty())
        return channels;
    std::uint32_t &receive = channels[0];
    std::uint32_t &combined = channels[2];
    receive = std::min(receive, queues);
    combined = std::min(combined, queues - receive);
    return channels;
}

std::vector<std::uint32_t> spread_over(std::size_t entries, std::uint32_t queues)
{
    std::vector<std::uint32_t> table(entries);
    for (std::size_t entry = 0; entry < entries; ++entry)
        table[entry] = static_cast<std::uint32_t>(entry % queues);
    return table;
}

bool is_within(const device_settings &of, const std::string &device, std::uint32_t queues)
{
    const auto table = of.values_of(device_setting::rss_table, device);
    return of.receive_queues(device) <= queues || (!table.empty() && std::ranges::max(table) < queues);
}

} // namespace

bool leaves_checksums_unfinished(const std::string &driver)
{
    return driver == "veth";
}

port_preparation::port_preparation(const daemon_config &config, bool has_overlay, const kernel::user_identity &user,
                                   device_settings &of)
    : config_{config}, has_overlay_{has_overlay}, settings_{of},
      changed_{config.daemon.socket, user, of, [this](const setting_change &change) { return is_wanted(change); }}
{
    for (const port_options &port : config.ports)
        if (settings_.ifindex_of(port.device) != 0)
            prepare(port, MRC_MAX_QUEUES);
}

// What prepare() would do is there already.
bool port_preparation::is_wanted(const setting_change &change) const
{
    const auto port = std::ranges::find(config_.ports, change.device, &port_options::device);
    if (port == config_.ports.end())
        return false;
    if (change.what == device_setting::transmit_checksum)
        return wants_checksums(change.device);
    return !port->queues && is_within(settings_, change.device, MRC_MAX_QUEUES);
}

bool port_preparation::wants_checksums(const std::string &device) const
{
    return has_overlay_ && leaves_checksums_unfinished(settings_.driver_of(device));
}

void port_preparation::prepare(const port_options &port, std::uint32_t queues)
{
    if (!port.queues && !is_within(settings_, port.device, queues))
        limit_queues(port.device, queues);
    if (wants_checksums(port.device))
        complete_checksums(port.device);
}

void port_preparation::limit_queues(const std::string &device, std::uint32_t queues)
{
    const std::uint32_t all = settings_.receive_queues(device);
    const auto entries = settings_.values_of(device_setting::rss_table, device).size();
    if (entries != 0 && changed_.change(device_setting::rss_table, device, spread_over(entries, queues))) {
        log::info("port {}: RSS keeps to the first {} of {} receive queues, which have sockets, until mrcd ends",
                  device, queues, all);
        return;
    }
    const auto channels = with_receivers(settings_.values_of(device_setting::channels, device), queues);
    if (!channels.empty() && changed_.change(device_setting::channels, device, channels)) {
        log::info("port {}: {} receive queues instead of {}, as many as have sockets, until mrcd ends", device, queues,
                  all);
        return;
    }
    throw kernel::startup_error{
        fmt::format("'{0}' has {1} receive queues, {2} of which can be served, and its driver neither keeps RSS to "
                    "these nor takes fewer channels: flow rules have to send MRC's packets there, and [[port]] "
                    "queues = {2} says so",
                    device, all, queues)};
}

void port_preparation::complete_checksums(const std::string &device)
{
    constexpr std::uint32_t by_the_kernel = 0;
    if (settings_.values_of(device_setting::transmit_checksum, device) == std::vector{by_the_kernel})
        return;
    if (changed_.change(device_setting::transmit_checksum, device, {by_the_kernel}))
        log::info("port {}: the kernel computes the checksums of what is sent, until mrcd ends: its driver computes "
                  "none",
                  device);
    else
        log::warn("port {}: checksums of ordinary sockets over the overlay may never be computed: ethtool -K {} tx off",
                  device, device);
}

} // namespace mrc::service
