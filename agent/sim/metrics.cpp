// SPDX-License-Identifier: Apache-2.0
#include "sim/metrics.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace mrc::sim
{

void add_flow_metrics(metric_values &to, const flow_table &flows, const traffic_pattern &traffic, picoseconds settle,
                      picoseconds now)
{
    picoseconds end = 0;
    std::uint64_t failed = 0;
    std::vector<double> rates;
    double slowest = std::numeric_limits<double>::max();
    for (const flow &each : flows.flows()) {
        end = std::max(end, each.last_delivery);
        failed += each.failed;
    }
    const bool finished = traffic.done();
    if (!finished)
        end = now;
    for (const flow &each : flows.flows()) {
        const picoseconds begin = std::max({each.first_post, settle, picoseconds{0}});
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
    to["finished"] = finished ? 1 : 0;
    to["duration_us"] = in_microseconds(end);
    to["failed"] = static_cast<double>(failed);
    to["received_bytes"] = static_cast<double>(flows.received_bytes());
    to["goodput_gbps"] = end > 0 ? static_cast<double>(flows.received_bytes()) * 8000.0 / static_cast<double>(end) : 0;
    to["flow_mean_gbps"] = sum / static_cast<double>(rates.size());
    to["flow_least_gbps"] = slowest;
    to["jain"] = squares > 0 ? sum * sum / (squares * static_cast<double>(rates.size())) : 0;
    if (traffic.bytes_per_host() != 0)
        to["bus_gbps"] =
            finished ? static_cast<double>(traffic.bytes_per_host()) * 8000.0 / static_cast<double>(end) : 0;
    for (unsigned series = 0; series < flows.series_names().size(); ++series) {
        double least = std::numeric_limits<double>::max();
        double most = 0;
        double total = 0;
        double count = 0;
        for (std::size_t i = 0; i < rates.size(); ++i) {
            if (flows.flows()[i].series != series)
                continue;
            least = std::min(least, rates[i]);
            most = std::max(most, rates[i]);
            total += rates[i];
            ++count;
        }
        const std::string &name = flows.series_names()[series];
        // Largest distance of a flow's rate from the mean of its series, relative to it.
        const double mean = total / count;
        to["spread." + name] = mean > 0 ? std::max(most - mean, mean - least) / mean : 1;
        to["gbps." + name] = mean;
    }
}

void add_mrc_metrics(metric_values &to, mrc_hosts hosts)
{
    if (hosts.empty())
        return;
    protocol::qp_counters sum;
    std::uint64_t worst = 0;
    std::uint64_t overruns = 0;
    double senders = 0;
    double rtt_ns = 0;
    for (const auto &host : hosts) {
        overruns += host->overruns();
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
            rtt_ns += static_cast<double>(host->qp(queue).rtt().smoothed().count());
        }
    }
    const auto put = [&to](const char *name, std::uint64_t value) { to[name] = static_cast<double>(value); };
    put("packets", sum.tx_packets);
    put("retransmits", sum.retransmits);
    put("spurious", sum.spurious);
    put("timeouts", sum.timeouts);
    put("losses", sum.losses);
    put("silences", sum.silences);
    put("nacks", sum.nacks);
    put("duplicates", sum.rx_duplicates);
    put("retransmits_worst_qp", worst);
    put("dropped_ring", overruns);
    to["needless_percent"] =
        sum.tx_packets == 0 ? 0 : 100 * static_cast<double>(sum.rx_duplicates) / static_cast<double>(sum.tx_packets);
    to["rtt_us"] = rtt_ns / senders / 1000; // smoothed, at the end
    to["retransmits_per_qp"] = static_cast<double>(sum.retransmits) / senders;
}

void add_port_metrics(metric_values &to, const fabric &topology)
{
    port_counters sum;
    for (const output_port &port : topology.ports) {
        sum.marked += port.counters.marked;
        sum.trimmed += port.counters.trimmed;
        sum.dropped_full += port.counters.dropped_full;
        sum.dropped_loss += port.counters.dropped_loss;
        sum.dropped_cut += port.counters.dropped_cut;
    }
    to["marked"] = static_cast<double>(sum.marked);
    to["trimmed"] = static_cast<double>(sum.trimmed);
    to["dropped_full"] = static_cast<double>(sum.dropped_full);
    to["dropped_loss"] = static_cast<double>(sum.dropped_loss);
    to["dropped_cut"] = static_cast<double>(sum.dropped_cut);
    to["base_rtt_us"] = in_microseconds(topology.base_rtt());
}

void add_roce_metrics(metric_values &to, roce_hosts hosts)
{
    if (hosts.empty())
        return;
    roce_counters sum;
    for (const auto &host : hosts) {
        for (unsigned queue = 0; queue < host->queues(); ++queue) {
            const roce_counters &each = host->sender(queue).counters();
            sum.sent += each.sent;
            sum.retransmits += each.retransmits;
            sum.timeouts += each.timeouts;
            sum.notifications += each.notifications;
        }
    }
    to["packets"] = static_cast<double>(sum.sent);
    to["retransmits"] = static_cast<double>(sum.retransmits);
    to["timeouts"] = static_cast<double>(sum.timeouts);
    to["cnps"] = static_cast<double>(sum.notifications);
}

picoseconds last_use_of(const link_ports &link, const fabric &topology, mrc_hosts hosts)
{
    const fabric::uplink_name name = topology.name_of_uplink(link);
    const unsigned slot = name.plane * topology.config().spines + name.spine;
    picoseconds last = no_time;
    for (unsigned host = 0; host < hosts.size(); ++host) {
        const bool behind = topology.leaf_of(host) == name.leaf;
        for (unsigned leaf = 0; leaf < topology.config().leaves; ++leaf)
            if (leaf != topology.leaf_of(host) && (behind || leaf == name.leaf))
                last = std::max(last, hosts[host]->last_use(leaf, slot));
    }
    return last;
}

} // namespace mrc::sim
