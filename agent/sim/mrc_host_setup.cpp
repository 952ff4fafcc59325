// SPDX-License-Identifier: Apache-2.0
// A host's queue pairs and path groups: how they are made, and what measurements ask of them.
#include <algorithm>
#include <cmath>

#include "protocol/packet_number.h"
#include "sim/mrc_host.h"
#include "sim/pinned_path.h"
#include "sim/transport_parts.h"

namespace mrc::sim
{

using namespace protocol;

mrc_host::mrc_host(unsigned index, const mrc_shared &shared, std::uint64_t seed)
    : index_{index}, shared_{shared}, seed_{seed}, memory_{shared.flows}, time_{shared.worker, seed},
      timer_gate_{timer_gate_of(shared.worker)}, unread_(shared.clock.topology.config().planes)
{
    ports_.up = plane_mask{(1u << shared.clock.topology.config().planes) - 1};
}

unsigned mrc_host::group_of(unsigned leaf, unsigned far_host)
{
    const auto known = std::ranges::find_if(groups_, [leaf](const auto &each) { return each->leaf == leaf; });
    if (known != groups_.end())
        return static_cast<unsigned>(known - groups_.begin());
    const fabric &topology = shared_.clock.topology;
    path_group_config config;
    config.planes = topology.config().planes;
    // Behind the own T0 there is one way per plane.
    config.uplinks = leaf == topology.leaf_of(index_) ? 1 : topology.config().spines;
    config.base = group_base;
    config.active_per_plane = std::min(shared_.transport.active_paths, config.uplinks);
    config.probes.interval = duration{shared_.transport.probe_interval / nanosecond};
    config.probes.spacing = config.probes.interval;
    config.seed = seed_ + leaf;
    auto fresh = std::make_unique<group_record>();
    fresh->leaf = leaf;
    fresh->far_host = far_host;
    fresh->paths = std::make_unique<path_group>(config, ports_);
    fresh->proofs = std::make_unique<sack_proofs>(fresh->paths->size());
    fresh->last_use.assign(fresh->paths->size(), no_time);
    groups_.push_back(std::move(fresh));
    return static_cast<unsigned>(groups_.size() - 1);
}

mrc_host::peer_record &mrc_host::peer_of(unsigned far_host)
{
    peers_.resize(std::max<std::size_t>(peers_.size(), far_host + 1));
    if (peers_[far_host])
        return *peers_[far_host];
    auto fresh = std::make_unique<peer_record>();
    fresh->group = group_of(shared_.clock.topology.leaf_of(far_host), far_host);
    fresh->ports = std::make_unique<port_status>(port_status_config{}, *groups_[fresh->group]->paths);
    fresh->ports->watch(never); // all peers here have traffic
    fresh->timer_at = shared_.clock.now();
    peers_[far_host] = std::move(fresh);
    shared_.clock.schedule(shared_.clock.now(), sim_event_kind::path_group, index_, peer_timers + far_host);
    return *peers_[far_host];
}

path_group &mrc_host::open_group(unsigned far_host)
{
    return *groups_[group_of(shared_.clock.topology.leaf_of(far_host), far_host)]->paths;
}

void mrc_host::add_queue(unsigned peer_host, bool sends, unsigned own, unsigned peer_queue, std::uint64_t seed,
                         std::optional<unsigned> pinned)
{
    auto fresh = std::make_unique<queue_record>();
    fresh->peer_host = peer_host;
    fresh->peer_queue = peer_queue;
    fresh->sends = sends;
    peer_record &peer = peer_of(peer_host);
    fresh->group = peer.group;
    fresh->control = make_control(shared_.transport, shared_.clock.topology, index_, peer_host);
    if (pinned)
        fresh->selector = std::make_unique<pinned_path>(*pinned);
    else
        fresh->selector = make_selector(shared_.transport.selector, seed);
    qp_config config;
    config.local = qpn{0x100 + own};
    config.peer = qpn{0x100 + peer_queue};
    config.first_send = psn{static_cast<std::uint32_t>(seed)};
    config.first_receive = config.first_send;
    config.payload_bytes = shared_.transport.payload;
    // The half of a queue pair that its direction leaves idle gets the least.
    config.window_psns = sends ? shared_.transport.window_psns : 64;
    config.receive_window_psns = sends ? 64 : shared_.transport.window_psns;
    config.retry.timeout_exponent = shared_.transport.timeout;
    config.trim_nack = shared_.clock.topology.config().trim;
    config.seed = seed;
    group_record &group = *groups_[fresh->group];
    fresh->qp = std::make_unique<queue_pair>(config, qp_surroundings{.paths = *group.paths,
                                                                     .memory = memory_,
                                                                     .control = *fresh->control,
                                                                     .peer_ports = &peer.ports->peer_ports(),
                                                                     .selector = fresh->selector.get(),
                                                                     .proofs = group.proofs.get()});
    group.queues.push_back(static_cast<unsigned>(queues_.size()));
    peer.queues.push_back(static_cast<unsigned>(queues_.size()));
    queues_.push_back(std::move(fresh));
}

unsigned mrc_host::connect(mrc_host &source, mrc_host &target, std::uint64_t seed, std::optional<unsigned> pinned)
{
    const auto own = static_cast<unsigned>(source.queues_.size());
    const auto peer = static_cast<unsigned>(target.queues_.size());
    source.add_queue(target.index_, true, own, peer, seed, pinned);
    target.add_queue(source.index_, false, peer, own, seed, std::nullopt);
    return own;
}

const path_group *mrc_host::group_to(unsigned leaf) const
{
    const auto known = std::ranges::find_if(groups_, [leaf](const auto &each) { return each->leaf == leaf; });
    return known == groups_.end() ? nullptr : (*known)->paths.get();
}

double mrc_host::plane_imbalance() const
{
    const unsigned planes = shared_.clock.topology.config().planes;
    std::vector<double> packets(planes);
    double sum = 0;
    for (const auto &group : groups_) {
        for (unsigned slot = 0; slot < group->paths->size(); ++slot) {
            const auto sent = static_cast<double>(group->paths->counters(slot).tx_packets);
            packets[slot / group->paths->uplinks()] += sent;
            sum += sent;
        }
    }
    const double mean = sum / planes;
    double worst = 0;
    for (const double each : packets)
        worst = std::max(worst, mean > 0 ? std::abs(each - mean) / mean : 0);
    return worst;
}

picoseconds mrc_host::last_use(unsigned leaf, unsigned slot) const
{
    const auto known = std::ranges::find_if(groups_, [leaf](const auto &each) { return each->leaf == leaf; });
    return known == groups_.end() ? no_time : (*known)->last_use[slot];
}

} // namespace mrc::sim
