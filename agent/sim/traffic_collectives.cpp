// SPDX-License-Identifier: Apache-2.0
#include "sim/traffic_collectives.h"

#include <algorithm>

#include "sim/traffic_streams.h"

namespace mrc::sim
{

namespace
{

// Messages of one flow that wait for their completion: less than a send queue holds.
constexpr std::size_t most_outstanding = 64;

unsigned host_of_rank(unsigned rank, const fabric &topology)
{
    const unsigned leaves = topology.config().leaves;
    return rank % leaves * topology.config().hosts_per_leaf + rank / leaves;
}

unsigned ranks_of(const traffic_config &config, const fabric &topology)
{
    return config.hosts == 0 ? topology.hosts() : config.hosts;
}

std::uint32_t share_of(const traffic_config &config, unsigned ranks)
{
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, config.bytes / ranks));
}

} // namespace

std::unique_ptr<traffic_pattern> make_traffic(const traffic_config &config)
{
    switch (config.kind) {
    case traffic_kind::pairs:
    case traffic_kind::permutation:
    case traffic_kind::incast:
        return std::make_unique<traffic_streams>(config);
    case traffic_kind::all_reduce:
        return std::make_unique<ring_all_reduce>(config);
    case traffic_kind::all_to_all:
        return std::make_unique<all_to_all>(config);
    }
    return nullptr;
}

void ring_all_reduce::add_flows(flow_table &flows, const fabric &topology, protocol::random_source &)
{
    ranks_ = ranks_of(config_, topology);
    const std::uint32_t slice = std::max(1u, share_of(config_, ranks_) / config_.slices);
    chunk_ = slice * config_.slices;
    for (unsigned rank = 0; rank < ranks_; ++rank)
        flows.add(host_of_rank(rank, topology), host_of_rank((rank + 1) % ranks_, topology), flows.series("goodput"));
    progress_.assign(ranks_, {0, std::vector<bool>(messages())});
}

void ring_all_reduce::start(flow_table &flows, engine &)
{
    flows_ = &flows;
    for (unsigned rank = 0; rank < ranks_; ++rank)
        post_next(rank);
}

// A rank may send its first chunk at once, and then as many slices as have arrived from its left.
void ring_all_reduce::post_next(unsigned rank)
{
    const unsigned arrived = progress_[(rank + ranks_ - 1) % ranks_].in_order;
    const unsigned allowed = std::min(arrived + config_.slices, messages());
    const flow &own = flows_->flows()[rank];
    while (own.messages < allowed && own.open.size() < most_outstanding)
        flows_->post(rank, chunk_ / config_.slices);
}

void ring_all_reduce::on_delivered(std::uint32_t flow, std::uint32_t message)
{
    rank_progress &at = progress_[flow];
    at.early[message] = true;
    while (at.in_order < messages() && at.early[at.in_order])
        ++at.in_order;
    finished_ += at.in_order == messages() ? 1 : 0; // once: every message arrives once
    post_next((flow + 1) % ranks_);
}

void all_to_all::add_flows(flow_table &flows, const fabric &topology, protocol::random_source &)
{
    ranks_ = ranks_of(config_, topology);
    share_ = share_of(config_, ranks_);
    for (unsigned rank = 0; rank < ranks_; ++rank)
        for (unsigned step = 1; step < ranks_; ++step)
            flows.add(host_of_rank(rank, topology), host_of_rank((rank + step) % ranks_, topology),
                      flows.series("goodput"));
    posted_.assign(ranks_, 0);
}

void all_to_all::start(flow_table &flows, engine &)
{
    flows_ = &flows;
    for (unsigned rank = 0; rank < ranks_; ++rank)
        for (unsigned i = 0; i < config_.fan_out; ++i)
            post_next(rank);
}

void all_to_all::post_next(unsigned rank)
{
    if (posted_[rank] < ranks_ - 1)
        flows_->post(rank * (ranks_ - 1) + posted_[rank]++, share_);
}

void all_to_all::on_completed(std::uint32_t flow, std::uint32_t)
{
    post_next(flow / (ranks_ - 1));
}

} // namespace mrc::sim
