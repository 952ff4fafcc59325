// SPDX-License-Identifier: Apache-2.0
#include "service/ports/queue_limits.h"

#include <algorithm>
#include <optional>
#include <ranges>

#include <fmt/format.h>

#include "kernel/startup_error.h"
#include "service/log.h"
#include "service/ports/port_modes.h"

namespace mrc::service
{

namespace
{

// Of both kinds together so many receive; those of its own kind first, as a combined one also sends.
kernel::probes::channel_counts with_receivers(kernel::probes::channel_counts of, std::uint32_t queues)
{
    of.receive = std::min(of.receive, queues);
    of.combined = std::min(of.combined, queues - of.receive);
    return of;
}

std::vector<std::uint32_t> spread_over(std::size_t entries, std::uint32_t queues)
{
    std::vector<std::uint32_t> table(entries);
    for (std::size_t entry = 0; entry < entries; ++entry)
        table[entry] = static_cast<std::uint32_t>(entry % queues);
    return table;
}

} // namespace

queue_limits::queue_limits(const daemon_config &config)
{
    for (const port_options &port : config.ports)
        if (!port.queues && kernel::probes::ifindex_of(port.device) != 0)
            limit(port.device, served_queues(port));
}

queue_limits::~queue_limits()
{
    for (const change &each : changes_ | std::views::reverse)
        undo(each);
}

void queue_limits::limit(const std::string &device, std::uint32_t queues)
{
    const std::uint32_t all = kernel::probes::receive_queues(device);
    change made{.device = device,
                .ifindex = kernel::probes::ifindex_of(device),
                .table_before = kernel::probes::rss_table(device),
                .table_set = {}};
    const bool kept_off = !made.table_before.empty() && std::ranges::max(made.table_before) < queues;
    if (all <= queues || kept_off)
        return;
    made.table_set = spread_over(made.table_before.size(), queues);
    if (!made.table_set.empty() && kernel::probes::set_rss_table(device, made.table_set)) {
        log::info("port {}: RSS keeps to the first {} of {} receive queues, which have sockets, until mrcd ends",
                  device, queues, all);
        changes_.push_back(std::move(made));
        return;
    }
    made.table_before.clear();
    const auto channels = kernel::probes::channels_of(device);
    if (channels) {
        made.channels_before = *channels;
        made.channels_set = with_receivers(*channels, queues);
    }
    if (!channels || !kernel::probes::set_channels(device, made.channels_set))
        throw kernel::startup_error{
            fmt::format("'{0}' has {1} receive queues, {2} of which can be served, and its driver neither keeps RSS to "
                        "these nor takes fewer channels: flow rules have to send MRC's packets there, and [[port]] "
                        "queues = {2} says so",
                        device, all, queues)};
    log::info("port {}: {} receive queues instead of {}, as many as have sockets, until mrcd ends", device, queues,
              all);
    changes_.push_back(std::move(made));
}

void queue_limits::undo(const change &of)
{
    if (kernel::probes::ifindex_of(of.device) != of.ifindex)
        return;
    if (!of.table_before.empty()) {
        if (kernel::probes::rss_table(of.device) == of.table_set &&
            !kernel::probes::set_rss_table(of.device, of.table_before))
            log::warn("port {}: its RSS table could not be restored: ethtool -X {} default", of.device, of.device);
        return;
    }
    if (kernel::probes::channels_of(of.device) == of.channels_set &&
        !kernel::probes::set_channels(of.device, of.channels_before))
        log::warn("port {}: its channels could not be restored: ethtool -L {} rx {} combined {}", of.device, of.device,
                  of.channels_before.receive, of.channels_before.combined);
}

} // namespace mrc::service
