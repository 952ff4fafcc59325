// SPDX-License-Identifier: Apache-2.0
#include "sim/traffic_streams.h"

#include <numeric>
#include <utility>

namespace mrc::sim
{

void traffic_streams::add(flow_table &flows, unsigned source, unsigned target, const std::string &series,
                          picoseconds start)
{
    flows.add(source, target, flows.series(series));
    starts_.push_back(start);
}

void traffic_streams::add_permutation(flow_table &flows, const fabric &topology, protocol::random_source &random)
{
    // Leaves in a random cycle, hosts within the leaf shuffled: all traffic crosses the spines.
    const unsigned leaves = topology.config().leaves;
    const unsigned per_leaf = topology.config().hosts_per_leaf;
    const auto shuffled = [&random](unsigned count) {
        std::vector<unsigned> order(count);
        std::iota(order.begin(), order.end(), 0u);
        for (unsigned i = count; i > 1; --i)
            std::swap(order[i - 1], order[random.below(i)]);
        return order;
    };
    const std::vector<unsigned> leaf_order = shuffled(leaves);
    for (unsigned i = 0; i < leaves; ++i) {
        const std::vector<unsigned> hosts = shuffled(per_leaf);
        for (unsigned j = 0; j < per_leaf; ++j)
            add(flows, leaf_order[i] * per_leaf + j, leaf_order[(i + 1) % leaves] * per_leaf + hosts[j], "goodput", 0);
    }
}

void traffic_streams::add_incast(flow_table &flows, const fabric &topology)
{
    // The target is h0, the victim's receiver its neighbour h1; senders come from the other leaves in turn.
    const unsigned per_leaf = topology.config().hosts_per_leaf;
    const unsigned remote_leaves = topology.config().leaves - 1;
    for (unsigned i = 0; i < config_.senders; ++i)
        add(flows, (1 + i % remote_leaves) * per_leaf + i / remote_leaves, 0, "incast", 0);
    const unsigned last = config_.senders;
    add(flows, (1 + last % remote_leaves) * per_leaf + last / remote_leaves, 1, "victim", 0);
}

void traffic_streams::add_flows(flow_table &flows, const fabric &topology, protocol::random_source &random)
{
    if (config_.kind == traffic_kind::permutation)
        add_permutation(flows, topology, random);
    else if (config_.kind == traffic_kind::incast)
        add_incast(flows, topology);
    for (const pair_spec &each : config_.pairs) {
        add(flows, each.source, each.target, each.series, each.start);
        flows.flows().back().pinned = each.pinned;
        if (config_.both_ways)
            add(flows, each.target, each.source, each.series, each.start);
    }
    wanted_ = std::uint64_t{config_.count} * flows.flows().size();
}

void traffic_streams::start(flow_table &flows, engine &clock)
{
    flows_ = &flows;
    for (std::uint32_t flow = 0; flow < starts_.size(); ++flow)
        clock.schedule(starts_[flow], sim_event_kind::workload, flow);
}

void traffic_streams::on_timer(std::uint32_t flow)
{
    for (unsigned i = 0; i < config_.depth; ++i)
        post_next(flow);
}

void traffic_streams::post_next(std::uint32_t flow)
{
    if (config_.count == 0 || flows_->flows()[flow].messages < config_.count)
        flows_->post(flow, static_cast<std::uint32_t>(config_.bytes));
}

void traffic_streams::on_delivered(std::uint32_t, std::uint32_t)
{
    ++delivered_;
}

void traffic_streams::on_completed(std::uint32_t flow, std::uint32_t)
{
    post_next(flow);
}

} // namespace mrc::sim
