// SPDX-License-Identifier: Apache-2.0
#include "sim/simulation.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/metrics.h"

namespace mrc::sim
{

namespace
{

// Streams of the seed, so that changing one thing does not reshuffle the others.
constexpr std::uint64_t traffic_stream = 0x7472616666696300u;
constexpr std::uint64_t queue_stream = 0x7175657565730000u;
constexpr std::uint64_t event_stream = 0x6576656e74730000u;

// Events of kind `sample`.
constexpr std::uint32_t settles = 1;

template <class T>
T expected_or_throw(std::expected<T, std::string> result, const std::string &what)
{
    if (!result)
        throw std::runtime_error{what + "; allowed: " + result.error()};
    return *std::move(result);
}

} // namespace

simulation::simulation(const run_config &config)
    : config_{config}, engine_{config.fabric, config.transport.payload, config.seed},
      flows_{engine_, config.transport.payload}
{
    for (pair_spec &each : config_.traffic.pairs) {
        for (const auto &[name, index] : {std::pair{&each.from, &each.source}, std::pair{&each.to, &each.target}})
            *index = expected_or_throw(engine_.topology.find_host(*name), "traffic: found " + *name);
    }
    make_hosts();
    traffic_ = make_traffic(config_.traffic);
    protocol::random_source random{config.seed ^ traffic_stream};
    traffic_->add_flows(flows_, engine_.topology, random);
    flows_.set_hosts(hosts_);
    flows_.set_listener(*traffic_);
    engine_.set_hosts(hosts_);
    engine_.set_listener(*this);
    resolve_watches();
    connect_flows();
    resolve_events();
}

void simulation::make_hosts()
{
    const mrc_shared shared{engine_, flows_, config_.transport, config_.host, path_changes_};
    protocol::random_source seeds{config_.seed};
    for (unsigned host = 0; host < engine_.topology.hosts(); ++host) {
        if (config_.transport.kind == transport_kind::mrc) {
            mrc_hosts_.push_back(std::make_unique<mrc_host>(host, shared, seeds.next()));
            hosts_.push_back(mrc_hosts_.back().get());
        } else {
            roce_hosts_.push_back(std::make_unique<roce_host>(host, engine_, flows_, config_.transport));
            hosts_.push_back(roce_hosts_.back().get());
        }
    }
}

void simulation::connect_flows()
{
    protocol::random_source random{config_.seed ^ queue_stream};
    for (flow &each : flows_.flows()) {
        const auto seen = std::ranges::find(watches_, each.pinned, &watched::name);
        const std::optional<unsigned> pinned =
            seen == watches_.end() ? std::nullopt : std::optional<unsigned>{seen->slot};
        for (unsigned i = 0; i < config_.transport.qps; ++i) {
            if (config_.transport.kind == transport_kind::mrc)
                each.queues.push_back(
                    mrc_host::connect(*mrc_hosts_[each.source], *mrc_hosts_[each.target], random.next(), pinned));
            else
                each.queues.push_back(roce_host::connect(*roce_hosts_[each.source], *roce_hosts_[each.target], random));
        }
    }
}

void simulation::resolve_watches()
{
    if (mrc_hosts_.empty())
        return;
    const fabric &topology = engine_.topology;
    for (const watch_config &each : config_.watches) {
        watched fresh;
        fresh.name = each.name;
        fresh.host = expected_or_throw(topology.find_host(each.from), "watch: found " + each.from);
        const unsigned target = expected_or_throw(topology.find_host(each.to), "watch: found " + each.to);
        fresh.leaf = topology.leaf_of(target);
        const protocol::path_group &paths = mrc_hosts_[fresh.host]->open_group(target);
        if (each.plane >= paths.planes() || each.position >= paths.active_per_plane())
            throw std::runtime_error{"watch " + each.name + ": allowed are planes below " +
                                     std::to_string(paths.planes()) + " and positions below " +
                                     std::to_string(paths.active_per_plane())};
        fresh.slot = paths.active_slot(protocol::plane_index{static_cast<std::uint8_t>(each.plane)}, each.position);
        watches_.push_back(std::move(fresh));
    }
}

std::vector<link_ports> simulation::links_of(const scenario_event &event)
{
    const fabric &topology = engine_.topology;
    std::vector<link_ports> links;
    links.reserve(event.links.size());
    for (const auto &[a, b] : event.links)
        links.push_back(expected_or_throw(topology.find_link(a, b), fmt::format("event: found {} and {}", a, b)));
    if (!event.node.empty())
        links = expected_or_throw(topology.links_of(event.node), "event: found " + event.node);
    if (event.random_uplinks != 0) {
        protocol::random_source random{config_.seed ^ event_stream};
        std::vector<link_ports> all = topology.uplinks();
        for (unsigned i = 0; i < event.random_uplinks && i < all.size(); ++i) {
            std::swap(all[i], all[i + random.below(static_cast<std::uint32_t>(all.size() - i))]);
            links.push_back(all[i]);
        }
    }
    return links;
}

void simulation::add_change(const scenario_event &event, const link_ports &link, picoseconds at, bool one_way)
{
    link_change change{link, event.what, event.loss, one_way, at, no_time};
    if (event.restored != 0)
        change.ends = at + event.restored;
    changes_.push_back(change);
    engine_.schedule(at, sim_event_kind::fabric_event, static_cast<std::uint32_t>(changes_.size() - 1));
    if (event.restored == 0)
        return;
    change.what = event.what == fabric_action::loss ? fabric_action::loss : fabric_action::up;
    change.loss = config_.fabric.loss;
    change.at = change.ends;
    change.ends = no_time;
    changes_.push_back(change);
    engine_.schedule(change.at, sim_event_kind::fabric_event, static_cast<std::uint32_t>(changes_.size() - 1));
}

void simulation::resolve_events()
{
    for (const scenario_event &event : config_.events) {
        picoseconds at = event.at;
        for (const link_ports &link : links_of(event)) {
            add_change(event, link, at, false);
            at += event.every;
        }
        const auto seen = std::ranges::find(watches_, event.watch, &watched::name);
        if (seen == watches_.end())
            continue;
        seen->event_at = event.at;
        const unsigned spines = config_.fabric.spines;
        const link_ports link =
            engine_.topology.uplink(seen->slot / spines, engine_.topology.leaf_of(seen->host), seen->slot % spines);
        add_change(event, link, event.at, true);
    }
}

void simulation::apply(const link_change &change)
{
    switch (change.what) {
    case fabric_action::cut:
        engine_.set_link(change.link, false, false);
        return;
    case fabric_action::down:
        engine_.set_link(change.link, false, true);
        return;
    case fabric_action::up:
        engine_.set_link(change.link, true, true);
        return;
    case fabric_action::loss:
        engine_.set_loss(change.link.out, change.loss);
        if (!change.one_way)
            engine_.set_loss(change.link.back, change.loss);
        return;
    }
}

void simulation::on_event(const event &what)
{
    switch (what.kind()) {
    case sim_event_kind::fabric_event:
        apply(changes_[what.a]);
        return;
    case sim_event_kind::sample:
        if (what.a == settles)
            flows_.settle();
        else
            sample();
        return;
    case sim_event_kind::workload:
        traffic_->on_timer(what.a);
        return;
    case sim_event_kind::arrival:
    case sim_event_kind::port_free:
    case sim_event_kind::host_pump:
    case sim_event_kind::queue_pair:
    case sim_event_kind::path_group:
    case sim_event_kind::carrier:
        return; // the engine's own
    }
}

void simulation::sample()
{
    const picoseconds span = engine_.now() - sampled_at_;
    if (span > 0) {
        std::vector<double> row;
        const auto &bytes = flows_.series_bytes();
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            row.push_back(static_cast<double>(bytes[i] - sampled_bytes_[i]) * 8000.0 / static_cast<double>(span));
            sampled_bytes_[i] = bytes[i];
        }
        for (watched &each : watches_) {
            const std::uint64_t packets = mrc_hosts_[each.host]->group_to(each.leaf)->counters(each.slot).tx_packets;
            row.push_back(static_cast<double>(packets - each.packets));
            each.packets = packets;
        }
        samples_.rows.push_back(std::move(row));
        samples_.at.push_back(engine_.now());
    }
    sampled_at_ = engine_.now();
    if (traffic_->done())
        engine_.stop();
    else
        engine_.schedule(engine_.now() + config_.interval, sim_event_kind::sample, 0);
}

void simulation::run(run_result &result, const std::function<void(double)> &progress)
{
    samples_.columns = flows_.series_names();
    samples_.flow_series = samples_.columns.size();
    for (const watched &each : watches_)
        samples_.columns.push_back(each.name);
    sampled_bytes_.assign(samples_.flow_series, 0);
    traffic_->start(flows_, engine_);
    engine_.schedule(config_.interval, sim_event_kind::sample, 0);
    if (config_.settle != 0)
        engine_.schedule(config_.settle, sim_event_kind::sample, settles);
    engine_.run(config_.duration, [this, &progress](picoseconds now) {
        progress(static_cast<double>(now) / static_cast<double>(config_.duration));
    });
    result.samples = std::move(samples_);
    collect(result);
}

void simulation::collect(run_result &result) const
{
    add_flow_metrics(result.metrics, flows_, *traffic_, config_.settle, engine_.now());
    add_mrc_metrics(result.metrics, mrc_hosts_);
    add_port_metrics(result.metrics, engine_.topology);
    add_roce_metrics(result.metrics, roce_hosts_);
    collect_paths(result);
    result.metrics["events"] = static_cast<double>(engine_.events_handled());
    result.metrics["link_hops"] = static_cast<double>(engine_.link_hops());
}

// Path changes: how long data still took a link that had died, and when watched paths were left.
void simulation::collect_paths(run_result &result) const
{
    // Failover: how long after a link's death data still took paths over it.
    picoseconds longest = no_time;
    for (const link_change &change : changes_) {
        const bool death = change.what == fabric_action::cut || change.what == fabric_action::down;
        if (!death || mrc_hosts_.empty() || change.ends != no_time || engine_.topology.is_host_link(change.link))
            continue;
        longest = std::max(longest, last_use_of(change.link, engine_.topology, mrc_hosts_) - change.at);
    }
    if (longest != no_time) {
        result.metrics["failover_us"] = in_microseconds(std::max<picoseconds>(longest, 0));
        result.metrics["failover_rtts"] = result.metrics["failover_us"] / result.metrics["base_rtt_us"];
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
