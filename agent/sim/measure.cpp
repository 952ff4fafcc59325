// SPDX-License-Identifier: Apache-2.0
// What a run is reduced to. Names of metrics are those that scenarios bound; units stand in the names.
#include <algorithm>
#include <limits>

#include "sim/simulation.h"

namespace mrc::sim
{

void simulation::collect(run_result &result) const
{
    collect_flows(result);
    if (!mrc_hosts_.empty())
        collect_queue_pairs(result);
    collect_ports(result);
    collect_paths(result);
    result.metrics["events"] = static_cast<double>(engine_.events_handled());
    result.metrics["link_hops"] = static_cast<double>(engine_.link_hops());
}

void simulation::collect_flows(run_result &result) const
{
    picoseconds end = 0;
    std::uint64_t failed = 0;
    std::vector<double> rates;
    double slowest = std::numeric_limits<double>::max();
    for (const flow &each : flows_.flows()) {
        end = std::max(end, each.last_delivery);
        failed += each.failed;
    }
    const bool finished = traffic_->done();
    if (!finished)
        end = engine_.now();
    for (const flow &each : flows_.flows()) {
        const picoseconds begin = std::max({each.first_post, config_.settle, picoseconds{0}});
        const picoseconds active = (finished && each.last_delivery > begin ? each.last_delivery : end) - begin;
        rates.push_back(active > 0 ? static_cast<double>(each.received_bytes - each.settled_bytes) * 8000.0 /
                                         static_cast<double>(active)
                                   : 0);
        slowest = std::min(slowest, rates.back());
    }
    double sum = 0;
    double squares = 0;
    for (const double rate : rates) {
        sum += rate;
        squares += rate * rate;
    }
    result.metrics["finished"] = finished ? 1 : 0;
    result.metrics["duration_us"] = in_microseconds(end);
    result.metrics["failed"] = static_cast<double>(failed);
    result.metrics["received_bytes"] = static_cast<double>(flows_.received_bytes());
    result.metrics["goodput_gbps"] =
        end > 0 ? static_cast<double>(flows_.received_bytes()) * 8000.0 / static_cast<double>(end) : 0;
    result.metrics["flow_mean_gbps"] = sum / static_cast<double>(rates.size());
    result.metrics["flow_least_gbps"] = slowest;
    result.metrics["jain"] = squares > 0 ? sum * sum / (squares * static_cast<double>(rates.size())) : 0;
    if (traffic_->bytes_per_host() != 0)
        result.metrics["bus_gbps"] =
            finished ? static_cast<double>(traffic_->bytes_per_host()) * 8000.0 / static_cast<double>(end) : 0;
    for (unsigned series = 0; series < flows_.series_names().size(); ++series) {
        double least = std::numeric_limits<double>::max();
        double most = 0;
        double total = 0;
        double count = 0;
        for (std::size_t i = 0; i < rates.size(); ++i) {
            if (flows_.flows()[i].series != series)
                continue;
            least = std::min(least, rates[i]);
            most = std::max(most, rates[i]);
            total += rates[i];
            ++count;
        }
        const std::string &name = flows_.series_names()[series];
        // Largest distance of a flow's rate from the mean of its series, relative to it.
        const double mean = total / count;
        result.metrics["spread." + name] = mean > 0 ? std::max(most - mean, mean - least) / mean : 1;
        result.metrics["gbps." + name] = mean;
    }
}

void simulation::collect_queue_pairs(run_result &result) const
{
    protocol::qp_counters sum;
    std::uint64_t worst = 0;
    double senders = 0;
    double rtt_ns = 0;
    for (const auto &host : mrc_hosts_) {
        for (unsigned queue = 0; queue < host->queues(); ++queue) {
            const protocol::qp_counters &each = host->qp(queue).counters();
            sum.tx_packets += each.tx_packets;
            sum.retransmits += each.retransmits;
            sum.spurious += each.spurious;
            sum.timeouts += each.timeouts;
            sum.losses += each.losses;
            sum.silences += each.silences;
            sum.nacks += each.nacks;
            sum.rx_duplicates += each.rx_duplicates;
            worst = std::max(worst, each.retransmits);
            if (!host->sends(queue))
                continue;
            senders += 1;
            rtt_ns += static_cast<double>(host->qp(queue).smoothed_rtt().count());
        }
    }
    const auto put = [&result](const char *name, std::uint64_t value) {
        result.metrics[name] = static_cast<double>(value);
    };
    put("packets", sum.tx_packets);
    put("retransmits", sum.retransmits);
    put("spurious", sum.spurious);
    put("timeouts", sum.timeouts);
    put("losses", sum.losses);
    put("silences", sum.silences);
    put("nacks", sum.nacks);
    put("duplicates", sum.rx_duplicates);
    put("retransmits_worst_qp", worst);
    result.metrics["rtt_us"] = rtt_ns / senders / 1000; // smoothed, at the end
    result.metrics["retransmits_per_qp"] = static_cast<double>(sum.retransmits) / senders;
}

void simulation::collect_ports(run_result &result) const
{
    port_counters sum;
    for (const output_port &port : engine_.topology.ports) {
        sum.marked += port.counters.marked;
        sum.trimmed += port.counters.trimmed;
        sum.dropped_full += port.counters.dropped_full;
        sum.dropped_loss += port.counters.dropped_loss;
        sum.dropped_cut += port.counters.dropped_cut;
    }
    result.metrics["marked"] = static_cast<double>(sum.marked);
    result.metrics["trimmed"] = static_cast<double>(sum.trimmed);
    result.metrics["dropped_full"] = static_cast<double>(sum.dropped_full);
    result.metrics["dropped_loss"] = static_cast<double>(sum.dropped_loss);
    result.metrics["dropped_cut"] = static_cast<double>(sum.dropped_cut);
    result.metrics["base_rtt_us"] = in_microseconds(engine_.topology.base_rtt());
    if (!roce_hosts_.empty()) {
        roce_counters roce;
        for (const auto &host : roce_hosts_) {
            for (unsigned queue = 0; queue < host->queues(); ++queue) {
                const roce_counters &each = host->sender(queue).counters();
                roce.sent += each.sent;
                roce.retransmits += each.retransmits;
                roce.timeouts += each.timeouts;
                roce.notifications += each.notifications;
            }
        }
        result.metrics["packets"] = static_cast<double>(roce.sent);
        result.metrics["retransmits"] = static_cast<double>(roce.retransmits);
        result.metrics["timeouts"] = static_cast<double>(roce.timeouts);
        result.metrics["cnps"] = static_cast<double>(roce.notifications);
    }
}

// The last data packet that any host sent on a path over this link between switches.
picoseconds simulation::last_use_of(const link_change &change) const
{
    const fabric &topology = engine_.topology;
    const fabric::uplink_name link = topology.name_of_uplink(change.link);
    const unsigned slot = link.plane * topology.config().spines + link.spine;
    picoseconds last = no_time;
    for (unsigned host = 0; host < mrc_hosts_.size(); ++host) {
        const bool behind = topology.leaf_of(host) == link.leaf;
        for (unsigned leaf = 0; leaf < topology.config().leaves; ++leaf)
            if (leaf != topology.leaf_of(host) && (behind || leaf == link.leaf))
                last = std::max(last, mrc_hosts_[host]->last_use(leaf, slot));
    }
    return last;
}

void simulation::collect_paths(run_result &result) const
{
    // Failover: how long after a link's death data still took paths over it.
    picoseconds longest = no_time;
    for (const link_change &change : changes_) {
        const bool death = change.what == fabric_action::cut || change.what == fabric_action::down;
        if (!death || mrc_hosts_.empty() || change.ends != no_time || engine_.topology.is_host_link(change.link))
            continue;
        longest = std::max(longest, last_use_of(change) - change.at);
    }
    if (longest != no_time) {
        result.metrics["failover_us"] = in_microseconds(std::max<picoseconds>(longest, 0));
        result.metrics["failover_rtts"] = result.metrics["failover_us"] / result.metrics["rtt_us"];
    }

    double planes_apart = 0;
    for (const auto &host : mrc_hosts_)
        planes_apart = std::max(planes_apart, host->plane_imbalance());
    if (!mrc_hosts_.empty())
        result.metrics["plane_imbalance"] = planes_apart;

    for (const watched &each : watches_) {
        for (const path_change &change : path_changes_) {
            if (change.host != each.host || change.leaf != each.leaf || change.slot != each.slot ||
                change.to != protocol::path_state::assumed_bad || change.at < each.event_at)
                continue;
            result.first_retirement[each.name] = change.at;
            if (each.event_at != no_time)
                result.metrics["retired_us." + each.name] = in_microseconds(change.at - each.event_at);
            break;
        }
    }
    double retirements = 0;
    for (const path_change &change : path_changes_)
        retirements += change.to == protocol::path_state::assumed_bad ? 1 : 0;
    result.metrics["retirements"] = retirements;
}

} // namespace mrc::sim
