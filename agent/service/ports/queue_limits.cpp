// SPDX-License-Identifier: Apache-2.0
#include "service/ports/queue_limits.h"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>

#include "kernel/startup_error.h"
#include "mrc/abi/maps.h"
#include "service/log.h"

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

bool is_limited(const daemon_config &config, const std::string &device)
{
    return std::ranges::any_of(config.ports,
                               [&](const port_options &port) { return port.device == device && !port.queues; });
}

} // namespace

int queue_settings::ifindex_of(const std::string &device) const
{
    return kernel::probes::ifindex_of(device);
}

std::uint32_t queue_settings::receive_queues(const std::string &device) const
{
    return kernel::probes::receive_queues(device);
}

std::vector<std::uint32_t> queue_settings::rss_table(const std::string &device) const
{
    return kernel::probes::rss_table(device);
}

bool queue_settings::set_rss_table(const std::string &device, std::span<const std::uint32_t> table)
{
    return kernel::probes::set_rss_table(device, table);
}

std::optional<kernel::probes::channel_counts> queue_settings::channels_of(const std::string &device) const
{
    return kernel::probes::channels_of(device);
}

bool queue_settings::set_channels(const std::string &device, const kernel::probes::channel_counts &counts)
{
    return kernel::probes::set_channels(device, counts);
}

// By a constructor that is complete, so that what was changed is undone where a later port fails.
queue_limits::queue_limits(const daemon_config &config, const kernel::user_identity &user, queue_settings &of)
    : queue_limits{config.daemon.socket, user, of}
{
    take_over(config);
    for (const port_options &port : config.ports)
        if (!port.queues && settings_.ifindex_of(port.device) != 0)
            limit(port.device, MRC_MAX_QUEUES);
}

queue_limits::~queue_limits()
{
    for (const queue_change &each : changes_)
        undo(each);
    record_.remove();
}

void queue_limits::take_over(const daemon_config &config)
{
    const auto left = record_.read();
    if (!left) {
        log::warn("what an mrcd before this one has changed of receive queues stays: {}", left.error());
        return;
    }
    for (const queue_change &each : *left) {
        if (!stands(each))
            continue;
        if (is_limited(config, each.device) && is_within(each.device, MRC_MAX_QUEUES)) {
            log::info("port {}: its receive queues are kept as an mrcd that was killed had them, until mrcd ends",
                      each.device);
            changes_.push_back(each);
        } else {
            undo(each);
            log::info("port {}: its receive queues are as they were before an mrcd that was killed", each.device);
        }
    }
    keep_record();
}

bool queue_limits::is_within(const std::string &device, std::uint32_t queues) const
{
    const auto table = settings_.rss_table(device);
    return settings_.receive_queues(device) <= queues || (!table.empty() && std::ranges::max(table) < queues);
}

void queue_limits::limit(const std::string &device, std::uint32_t queues)
{
    if (is_within(device, queues))
        return;
    const std::uint32_t all = settings_.receive_queues(device);
    std::erase_if(changes_,
                  [&](const queue_change &each) { return each.device == device; }); // another has set it since
    queue_change &made = changes_.emplace_back(queue_change{.device = device,
                                                            .ifindex = settings_.ifindex_of(device),
                                                            .table_before = settings_.rss_table(device),
                                                            .table_set = {}});
    made.table_set = spread_over(made.table_before.size(), queues);
    if (!made.table_set.empty()) {
        record_.write(changes_);
        if (settings_.set_rss_table(device, made.table_set)) {
            log::info("port {}: RSS keeps to the first {} of {} receive queues, which have sockets, until mrcd ends",
                      device, queues, all);
            return;
        }
    }
    made.table_before.clear();
    made.table_set.clear();
    if (const auto channels = settings_.channels_of(device)) {
        made.channels_before = *channels;
        made.channels_set = with_receivers(*channels, queues);
        record_.write(changes_);
        if (settings_.set_channels(device, made.channels_set)) {
            log::info("port {}: {} receive queues instead of {}, as many as have sockets, until mrcd ends", device,
                      queues, all);
            return;
        }
    }
    changes_.pop_back();
    keep_record();
    throw kernel::startup_error{
        fmt::format("'{0}' has {1} receive queues, {2} of which can be served, and its driver neither keeps RSS to "
                    "these nor takes fewer channels: flow rules have to send MRC's packets there, and [[port]] "
                    "queues = {2} says so",
                    device, all, queues)};
}

void queue_limits::keep_record() const
{
    if (changes_.empty())
        record_.remove();
    else
        record_.write(changes_);
}

// As it was set, on the device that it was set on.
bool queue_limits::stands(const queue_change &of) const
{
    if (settings_.ifindex_of(of.device) != of.ifindex)
        return false;
    return of.table_before.empty() ? settings_.channels_of(of.device) == of.channels_set
                                   : settings_.rss_table(of.device) == of.table_set;
}

void queue_limits::undo(const queue_change &of)
{
    if (!stands(of))
        return;
    if (!of.table_before.empty()) {
        if (!settings_.set_rss_table(of.device, of.table_before))
            log::warn("port {}: its RSS table could not be restored: ethtool -X {} default", of.device, of.device);
    } else if (!settings_.set_channels(of.device, of.channels_before)) {
        log::warn("port {}: its channels could not be restored: ethtool -L {} rx {} combined {}", of.device, of.device,
                  of.channels_before.receive, of.channels_before.combined);
    }
}

} // namespace mrc::service
