// SPDX-License-Identifier: Apache-2.0
#include "sim_network.h"

#include <algorithm>
#include <utility>

namespace mrc::sim
{

using namespace protocol;

namespace
{

constexpr duration least_nap{1000};
// All frames are as long, for a port takes config.serialisation for each.
constexpr std::uint32_t wire_bytes = 1000;
constexpr double no_limit = 1e9;

fabric_config fabric_of(const network_config &network)
{
    const double picoseconds_per_byte =
        static_cast<double>(network.serialisation.count()) * static_cast<double>(nanosecond) / wire_bytes;
    return {.planes = network.planes,
            .leaves = 1,
            .spines = 1,
            .hosts_per_leaf = network.third ? 3u : 2u,
            .host_gbps = 8000.0 / picoseconds_per_byte,
            .host_delay = 0,
            .ecn = false,
            .trim = false,
            .drop_at = no_limit};
}

} // namespace

qp_config mirrored(qp_config config)
{
    std::swap(config.local, config.peer);
    std::swap(config.first_send, config.first_receive);
    config.seed ^= 0x5555;
    return config;
}

network::network(const network_config &config, std::size_t memory_bytes)
    : config_{config}, random_{config.seed}, engine_{fabric_of(config), wire_bytes, config.seed}
{
    std::vector<attached_host *> attached;
    for (unsigned index = 0; index < engine_.topology.hosts(); ++index) {
        const bool is_left = index == 0;
        const std::vector<unsigned> others = !is_left       ? std::vector{0u}
                                             : config.third ? std::vector{1u, 2u}
                                                            : std::vector{1u};
        hosts_.push_back(std::make_unique<host>(config_, others, memory_bytes, config.seed * 2 + 1 + index));
        path_faults &link = links_.emplace_back(*this, index, config.planes * config.uplinks);
        for (unsigned plane = 0; plane < config.planes; ++plane)
            engine_.topology.ports[engine_.topology.host_port(index, plane)].model = &link;
        attached.push_back(&attachments_.emplace_back(*this, index));
    }
    engine_.set_hosts(std::move(attached));
    engine_.set_listener(*this);
}

network::network(const network_config &config, const qp_config &left, std::size_t memory_bytes,
                 std::uint64_t window_bytes)
    : network{config, memory_bytes}
{
    add_pair({.left = left,
              .right = mirrored(left),
              .control = add_control([window_bytes] { return std::make_unique<fixed_window>(window_bytes); }),
              .selector = std::nullopt});
}

std::uint64_t network::needless() const
{
    std::uint64_t known = 0;
    for (const auto &each : hosts_)
        for (const auto &end : each->ends)
            known += end->qp.counters().rx_duplicates;
    return known - std::min(known, data_copies_); // a copy may be lost at the ring's end
}

std::size_t network::add_control(const control_factory &make)
{
    for (auto &each : hosts_)
        each->controls.push_back(make());
    return hosts_[0]->controls.size() - 1;
}

std::size_t network::add_selector(const selector_factory &make)
{
    for (auto &each : hosts_)
        each->selectors.push_back(make(random_.next()));
    return hosts_[0]->selectors.size() - 1;
}

pair_ends network::add_pair(const pair_config &pair)
{
    const auto add = [this, &pair](unsigned at, unsigned to, const qp_config &config) {
        host &here = *hosts_[at];
        known_host &other = here.other(to);
        const qp_surroundings around{.paths = here.paths,
                                     .memory = here.memory,
                                     .control = *here.controls[pair.control],
                                     .peer_ports = &other.status.peer_ports(),
                                     .peer = config_.shared_planes ? &other.planes : nullptr,
                                     .selector = pair.selector ? here.selectors[*pair.selector].get() : nullptr,
                                     .pool = &here.pool};
        here.ends.push_back(std::make_unique<qp_end>(config, around, to));
        here.ends.back()->qp.announce();
        (void)here.pool.replenish();
        here.report();
        return here.ends.size() - 1;
    };
    const std::size_t left = add(0, pair.remote, pair.left);
    return {left, add(pair.remote, 0, pair.right)};
}

void network::each_path(const std::function<void(path_model &)> &change)
{
    for (auto &each : hosts_)
        std::ranges::for_each(each->out, change);
}

void network::each_path_at(unsigned slot, const std::function<void(path_model &)> &change)
{
    for (auto &each : hosts_)
        change(each->out[slot]);
}

void network::each_path_of(unsigned plane, const std::function<void(path_model &)> &change)
{
    for (unsigned uplink = 0; uplink < config_.uplinks; ++uplink)
        each_path_at(plane * config_.uplinks + uplink, change);
}

void network::at(instant when, std::function<void()> change)
{
    changes_.push_back(std::move(change));
    engine_.schedule(from_instant(when), sim_event_kind::fabric_event, static_cast<std::uint32_t>(changes_.size() - 1));
}

bool network::post(host &from, std::size_t end, const write_request &request)
{
    if (!from.ends[end]->qp.post_write(request, now()))
        return false;
    const auto index = std::ranges::find(hosts_, &from, &std::unique_ptr<host>::get) - hosts_.begin();
    wake(static_cast<unsigned>(index), now());
    return true;
}

bool network::post(host &from, std::uint64_t id, std::size_t source_offset, std::size_t target_offset,
                   std::uint32_t bytes, bool signaled)
{
    write_request request;
    request.id = id;
    request.source = {1, source_offset, bytes};
    request.remote_va = host_memory::base + target_offset;
    request.rkey = host_memory::key;
    request.signaled = signaled;
    return post(from, 0, request);
}

void network::wake(unsigned index, instant at)
{
    host &each = *hosts_[index];
    at = std::max(at, to_instant(each.time.busy_until()));
    if (at >= each.wakes_at)
        return;
    each.wakes_at = at;
    engine_.schedule(from_instant(at), sim_event_kind::host_pump, index);
}

bool network::run(const std::function<bool()> &done, instant deadline)
{
    while (!done())
        if (!engine_.step(from_instant(deadline)))
            return done();
    return true;
}

void network::on_event(const event &what)
{
    changes_[what.a]();
    for (unsigned index = 0; index < hosts_.size(); ++index)
        wake(index, now());
}

// The port has room, which changes nothing, or a wake-up is due; not one that an earlier one superseded.
void network::pump(unsigned index)
{
    host &here = *hosts_[index];
    if (now() != here.wakes_at)
        return;
    here.wakes_at = never;
    serve(index);
}

void network::arrive(unsigned at, const frame &arrived)
{
    host &here = *hosts_[at];
    if (here.dead)
        return;
    const unsigned slot = arrived.path.value - 1;
    if (!here.ports.up.has(plane_index{static_cast<std::uint8_t>(plane_of(slot))})) {
        hit(fault::port_down);
        return;
    }
    const unsigned source = engine_.topology.asking_host(arrived.route[0]);
    arrived_frame fresh{std::get<packet>(arrived.content), {}, source, {}};
    // Probes are answered before the scheduler is asked, as the XDP program does.
    if (const auto *request = std::get_if<endpoint_request_packet>(&fresh.content);
        request != nullptr && request->operation == MRC_EP_EV_PROBE) {
        reflect(at, source, *request, arrived);
        return;
    }
    fresh.how.entropy = arrived.entropy;
    fresh.how.path = arrived.path;
    fresh.how.at = now();
    fresh.how.congestion_experienced = arrived.congestion_experienced;
    fresh.how.trimmed = arrived.trimmed;
    fresh.how.trimmed_last_hop = arrived.trimmed_last_hop;
    if (const auto *data = std::get_if<data_packet>(&fresh.content); data != nullptr && !arrived.trimmed) {
        fresh.payload = std::span{hosts_[source]->source}.subspan(arrived.payload_address, data->payload_bytes);
        fresh.how.wire_bytes = nominal_bytes(data->payload_bytes);
    }
    if (!here.unread[plane_of(slot)].put(fresh, config_.worker.ring)) {
        hit(fault::ring_full);
        return;
    }
    wake(at, now());
}

void network::reflect(unsigned at, unsigned to, const endpoint_request_packet &request, const frame &how)
{
    endpoint_response_packet response;
    response.request_id = request.request_id;
    response.operation = request.operation;
    response.tx_timestamp = request.tx_timestamp;
    send(at, to, {response, {}, how.entropy, how.path, MRC_DSCP_CONTROL, MRC_ECN_NOT_ECT});
}

// One turn of a worker: receive, timers, send, completions.
void network::serve(unsigned index)
{
    const instant at = now();
    host &here = *hosts_[index];
    if (here.dead)
        return;
    for (const interval &off : here.off_cpu) {
        if (off.holds(at)) {
            hit(fault::pause);
            wake(index, off.to);
            return;
        }
    }
    if (const auto until = here.time.stalled_until(engine_.now())) {
        hit(fault::stall);
        wake(index, to_instant(*until));
        return;
    }
    const datapath::receive_result received = here.receive(at);
    hit(fault::full_batch, here.has_unread() ? 1 : 0);
    if (here.timers_may_run(received.unread))
        for (const auto &end : here.ends)
            if (at >= end->qp.next_deadline())
                end->qp.on_timer(at);
    here.report(); // before Transport ACKs leave: a receive request is free before the peer may use it
    here.watch(at, config_.port_status);
    const transmission sent = transmit(index);
    hit(fault::full_round, sent.more ? 1 : 0);
    here.time.begin_round(engine_.now(), received.frames + sent.packets);
    here.report();
    if (served_)
        served_(here);
    instant next = std::min(here.next_deadline(), here.next_question());
    if (here.has_unread() || sent.more)
        next = at;
    if (next != never)
        wake(index, std::max(next, at + least_nap));
}

void network::transmit_endpoint(unsigned index)
{
    const instant at = now();
    host &here = *hosts_[index];
    for (known_host &other : here.others) {
        while (const auto update = other.status.next_packet(at))
            send(index, other.index, *update);
        while (const auto probe = other.planes.next_packet(at))
            send(index, other.index, *probe);
    }
    while (const auto probe = here.paths.next_packet(at, here.asked.reachable()))
        send(index, here.ask(*probe, at), *probe);
}

// A burst of one end, within what the round may still send.
network::transmission network::transmit_end(unsigned index, qp_end &end, std::size_t most)
{
    constexpr std::size_t burst = 16;
    transmission sent;
    for (most = std::min(most, burst); sent.packets < most; ++sent.packets) {
        const auto packet = end.qp.next_packet(now());
        if (!packet)
            return sent;
        const plane_index plane{static_cast<std::uint8_t>(plane_of(packet->path.value - 1))};
        misdirected_ += hosts_[index]->ports.usable().has(plane) ? 0 : 1;
        send(index, end.remote, *packet);
    }
    sent.more = true;
    return sent;
}

// In bursts and in turn, so that QPs share what a controller allows.
network::transmission network::transmit(unsigned index)
{
    transmit_endpoint(index);
    host &here = *hosts_[index];
    const std::size_t batch = config_.worker.batch == 0 ? SIZE_MAX : config_.worker.batch;
    transmission all;
    ++here.first_turn;
    for (all.more = true; all.more && all.packets < batch;) {
        all.more = false;
        for (std::size_t turn = 0; turn < here.ends.size(); ++turn) {
            qp_end &end = *here.ends[(here.first_turn + turn) % here.ends.size()];
            if (end.gone)
                continue;
            const transmission sent = transmit_end(index, end, batch - all.packets);
            all.packets += sent.packets;
            all.more = all.more || sent.more;
        }
    }
    return all;
}

void network::send(unsigned from, unsigned to, const outgoing &packet)
{
    host &here = *hosts_[from];
    const unsigned plane = plane_of(packet.path.value - 1);
    here.frames[plane] += std::holds_alternative<data_packet>(packet.content) ? 1 : 0;
    const frame_index index = engine_.take_frame();
    frame &fresh = engine_.frames[index];
    fresh = frame{};
    fresh.content = packet.content;
    fresh.payload_address = packet.payload.address;
    fresh.entropy = packet.entropy;
    fresh.path = packet.path;
    fresh.wire_bytes = wire_bytes;
    fresh.dscp = packet.dscp;
    fresh.ect = packet.ecn == MRC_ECN_ECT0;
    auto &content = std::get<protocol::packet>(fresh.content);
    if (auto *sack = std::get_if<sack_packet>(&content); sack != nullptr && here.offered_mpr != 0)
        sack->mpr = std::min(sack->mpr, here.offered_mpr); // stays 0 where it was not negotiated
    engine_.topology.set_route(fresh, from, to, plane, 0);
    engine_.send(index);
}

} // namespace mrc::sim
