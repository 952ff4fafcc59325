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
constexpr duration port_status_memory = std::chrono::seconds{3}; // as the worker's, renewed while there are QPs
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
            .hosts_per_leaf = 2,
            .host_gbps = 8000.0 / picoseconds_per_byte,
            .host_delay = 0,
            .ecn = false,
            .trim = false,
            .drop_at = no_limit};
}

// Whether the path's faults let a frame be trimmed.
bool may_be_trimmed(const frame &each)
{
    return each.dscp == MRC_DSCP_TRIMMABLE || each.dscp == MRC_DSCP_TRIMMABLE_RETX;
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
    for (unsigned index = 0; index < 2; ++index) {
        hosts_[index] = std::make_unique<host>(config, memory_bytes, config.seed * 2 + 1 + index);
        links_[index] = std::make_unique<path_faults>(*this, index, config.planes * config.uplinks);
        for (unsigned plane = 0; plane < config.planes; ++plane)
            engine_.topology.ports[engine_.topology.host_port(index, plane)].model = links_[index].get();
    }
    engine_.set_hosts({&attachments_[0], &attachments_[1]});
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

void network::add_pair(const pair_config &pair)
{
    for (auto &each : hosts_) {
        auto &peer = each->peer;
        const qp_surroundings around{.paths = each->paths,
                                     .memory = each->memory,
                                     .control = *each->controls[pair.control],
                                     .peer_ports = each->peer_ports(),
                                     .peer = peer ? &*peer : nullptr,
                                     .selector = pair.selector ? each->selectors[*pair.selector].get() : nullptr,
                                     .pool = &each->pool};
        each->ends.push_back(std::make_unique<qp_end>(each == hosts_[0] ? pair.left : pair.right, around));
        each->ends.back()->qp.announce();
        (void)each->pool.replenish();
        each->report();
    }
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

bool network::post(host &from, std::size_t pair, const write_request &request)
{
    if (!from.ends[pair]->qp.post_write(request, now()))
        return false;
    wake(&from == hosts_[0].get() ? 0 : 1, now());
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

bool network::chance(double probability)
{
    return probability > 0 && static_cast<double>(random_.next() >> 11) * 0x1p-53 < probability;
}

picoseconds network::up_to(duration longest)
{
    if (longest.count() <= 0)
        return 0;
    return static_cast<picoseconds>(random_.next() % static_cast<std::uint64_t>(longest.count() + 1)) * nanosecond;
}

void network::wake(unsigned index, instant at)
{
    host &each = *hosts_[index];
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
    wake(0, now());
    wake(1, now());
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
    arrived_frame fresh{std::get<packet>(arrived.content), {}, {}};
    // Probes are answered before the scheduler is asked, as the XDP program does.
    if (const auto *request = std::get_if<endpoint_request_packet>(&fresh.content);
        request != nullptr && request->operation == MRC_EP_EV_PROBE) {
        reflect(at, *request, arrived);
        return;
    }
    fresh.how.entropy = arrived.entropy;
    fresh.how.path = arrived.path;
    fresh.how.at = now();
    fresh.how.congestion_experienced = arrived.congestion_experienced;
    fresh.how.trimmed = arrived.trimmed;
    fresh.how.trimmed_last_hop = arrived.trimmed_last_hop;
    if (const auto *data = std::get_if<data_packet>(&fresh.content); data != nullptr && !arrived.trimmed) {
        fresh.payload = std::span{hosts_[1 - at]->source}.subspan(arrived.payload_address, data->payload_bytes);
        fresh.how.wire_bytes = nominal_bytes(data->payload_bytes);
    }
    here.unread.push_back(fresh);
    wake(at, now());
}

void network::reflect(unsigned at, const endpoint_request_packet &request, const frame &how)
{
    endpoint_response_packet response;
    response.request_id = request.request_id;
    response.operation = request.operation;
    response.tx_timestamp = request.tx_timestamp;
    send(at, {response, {}, how.entropy, how.path, MRC_DSCP_CONTROL, MRC_ECN_NOT_ECT});
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
    here.receive(at);
    if (here.status)
        here.status->watch(at + port_status_memory);
    for (const auto &end : here.ends)
        if (at >= end->qp.next_deadline())
            end->qp.on_timer(at);
    here.report(); // before Transport ACKs leave: a receive request is free before the peer may use it
    transmit(index);
    here.report();
    if (served_)
        served_(here);
    instant next = std::min(here.next_deadline(), here.paths.next_deadline());
    if (here.status)
        next = std::min(next, here.status->next_deadline());
    if (here.peer)
        next = std::min(next, here.peer->next_deadline());
    if (next != never)
        wake(index, std::max(next, at + least_nap));
}

void network::transmit(unsigned index)
{
    const instant at = now();
    host &here = *hosts_[index];
    while (here.status) {
        const auto update = here.status->next_packet(at);
        if (!update)
            break;
        send(index, *update);
    }
    while (here.peer) {
        const auto probe = here.peer->next_packet(at);
        if (!probe)
            break;
        send(index, *probe);
    }
    while (const auto probe = here.paths.next_packet(at))
        send(index, *probe);
    // In bursts and in turn, so that QPs share what a controller allows.
    ++here.first_turn;
    constexpr unsigned burst = 16;
    for (bool more = true; more;) {
        more = false;
        for (std::size_t turn = 0; turn < here.ends.size(); ++turn) {
            const auto &end = here.ends[(here.first_turn + turn) % here.ends.size()];
            unsigned sent = 0;
            for (; sent < burst; ++sent) {
                const auto packet = end->qp.next_packet(at);
                if (!packet)
                    break;
                const plane_index plane{static_cast<std::uint8_t>(plane_of(packet->path.value - 1))};
                misdirected_ += here.ports.usable().has(plane) ? 0 : 1;
                send(index, *packet);
            }
            more = more || sent == burst;
        }
    }
}

void network::send(unsigned from, const outgoing &packet)
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
    engine_.topology.set_route(fresh, from, 1 - from, plane, 0);
    engine_.send(index);
}

bool network::swallowed(const host &from, unsigned slot, instant departs)
{
    if (!from.ports.up.has(plane_index{static_cast<std::uint8_t>(plane_of(slot))})) {
        hit(fault::port_down);
        return true;
    }
    const path_model &path = from.out[slot];
    for (const outage &cut : path.outages) {
        if (!cut.holds(departs))
            continue;
        hit(cut.kind);
        return true;
    }
    if (chance(path.loss)) {
        hit(fault::loss);
        return true;
    }
    if (chance(path.corrupt)) { // its ICRC is wrong
        hit(fault::corruption);
        return true;
    }
    return false;
}

void network::mark(frame &each, const path_model &path)
{
    each.congestion_experienced = each.ect && chance(path.congested);
    hit(fault::congestion, each.congestion_experienced ? 1 : 0);
    if (may_be_trimmed(each) && chance(path.trimmed))
        trim(each, path);
}

void network::trim(frame &each, const path_model &path)
{
    each.trimmed = true;
    each.trimmed_last_hop = chance(path.last_hop);
    each.congestion_experienced = false;
    hit(each.trimmed_last_hop ? fault::trim_last_hop : fault::trim);
    if (auto *data = std::get_if<data_packet>(&std::get<packet>(each.content));
        data != nullptr && chance(10 * path.corrupt)) {
        hit(fault::garbled_trim);
        garble(*data, random_);
    }
}

deliveries network::path_faults::carry(frame &each, picoseconds arrives)
{
    const host &from = *net_.hosts_[from_];
    const unsigned slot = each.path.value - 1;
    const path_model &path = from.out[slot];
    deliveries found;
    if (net_.swallowed(from, slot, to_instant(arrives)))
        return found;
    net_.mark(each, path);
    line &here = paths_[slot];
    found.count = net_.chance(path.duplicate) ? 2 : 1;
    net_.hit(fault::duplicate, found.count - 1);
    for (unsigned copy = 0; copy < found.count; ++copy) {
        picoseconds at = arrives + path.delay.count() * nanosecond + net_.up_to(path.jitter);
        if (net_.chance(path.overtake))
            at += net_.up_to(5 * path.delay);
        else
            at = here.in_order = std::max(at, here.in_order);
        net_.hit(fault::reorder, at < here.latest ? 1 : 0);
        here.latest = std::max(here.latest, at);
        found.at[copy] = at;
    }
    return found;
}

} // namespace mrc::sim
