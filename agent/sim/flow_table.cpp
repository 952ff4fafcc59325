// SPDX-License-Identifier: Apache-2.0
#include "sim/flow_table.h"

#include <algorithm>

namespace mrc::sim
{

std::uint32_t flow_table::add(unsigned source, unsigned target, unsigned series)
{
    flow fresh;
    fresh.source = source;
    fresh.target = target;
    fresh.series = series;
    flows_.push_back(std::move(fresh));
    return static_cast<std::uint32_t>(flows_.size() - 1);
}

unsigned flow_table::series(const std::string &name)
{
    const auto found = std::ranges::find(names_, name);
    if (found == names_.end()) {
        names_.push_back(name);
        series_bytes_.push_back(0);
        return static_cast<unsigned>(names_.size() - 1);
    }
    return static_cast<unsigned>(found - names_.begin());
}

flow::pending *flow_table::find(flow &of, std::uint32_t message)
{
    const auto found = std::ranges::find(of.open, message, &flow::pending::message);
    return found == of.open.end() ? nullptr : &*found;
}

void flow_table::forget_finished(flow &of)
{
    std::erase_if(of.open, [](const flow::pending &each) { return each.missing_bytes + each.missing_parts == 0; });
}

void flow_table::post(std::uint32_t index, std::uint32_t bytes)
{
    flow &to = flows_[index];
    if (to.first_post == no_time)
        to.first_post = engine_.now();
    const std::uint32_t message = to.messages++;
    const auto queues = static_cast<std::uint32_t>(to.queues.size());
    const std::uint32_t packets = (bytes + payload_bytes_ - 1) / payload_bytes_;
    const std::uint32_t share = (packets + queues - 1) / queues * payload_bytes_;
    const std::uint32_t parts = (bytes + share - 1) / share;
    to.posted_bytes += bytes;
    to.open.push_back({message, bytes, parts});
    // Which queue pair begins takes turns, so that short messages use all of them.
    for (std::uint32_t i = 0; i < parts; ++i) {
        const message_part part{index, message, i * share, std::min(share, bytes - i * share)};
        if (!hosts_[to.source]->post(to.queues[(message + i) % queues], part))
            ++to.failed;
    }
}

void flow_table::on_bytes(std::uint32_t index, std::uint32_t message, std::uint32_t bytes)
{
    flow &at = flows_[index];
    at.received_bytes += bytes;
    received_bytes_ += bytes;
    series_bytes_[at.series] += bytes;
    flow::pending *pending = find(at, message);
    if (pending == nullptr || pending->missing_bytes == 0)
        return;
    pending->missing_bytes -= std::min(bytes, pending->missing_bytes);
    if (pending->missing_bytes != 0)
        return;
    at.last_delivery = engine_.now();
    forget_finished(at);
    listener_->on_delivered(index, message);
}

void flow_table::on_part_completed(std::uint32_t index, std::uint32_t message, bool success)
{
    flow &at = flows_[index];
    at.failed += success ? 0 : 1;
    flow::pending *pending = find(at, message);
    if (pending == nullptr || pending->missing_parts == 0)
        return;
    if (--pending->missing_parts != 0)
        return;
    forget_finished(at);
    listener_->on_completed(index, message);
}

} // namespace mrc::sim
