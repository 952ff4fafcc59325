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

} // namespace

qp_config mirrored(qp_config config)
{
    std::swap(config.local, config.peer);
    std::swap(config.first_send, config.first_receive);
    config.seed ^= 0x5555;
    return config;
}

network::network(const network_config &config, std::size_t memory_bytes) : config_{config}, random_{config.seed}
{
    hosts_[0] = std::make_unique<host>(config, memory_bytes, config.seed * 2 + 1);
    hosts_[1] = std::make_unique<host>(config, memory_bytes, config.seed * 2 + 2);
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
                                     .selector = pair.selector ? each->selectors[*pair.selector].get() : nullptr};
        each->ends.push_back(std::make_unique<qp_end>(each == hosts_[0] ? pair.left : pair.right, around));
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
    schedule(when, sim_event_kind::fabric_event, static_cast<std::uint32_t>(changes_.size() - 1));
}

bool network::post(host &from, std::size_t pair, const write_request &request)
{
    if (!from.ends[pair]->qp.post_write(request, now_))
        return false;
    wake(&from == hosts_[0].get() ? 0 : 1, now_);
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

duration network::up_to(duration longest)
{
    return longest.count() <= 0
               ? duration{0}
               : duration{static_cast<std::int64_t>(random_.next() % static_cast<std::uint64_t>(longest.count() + 1))};
}

void network::wake(unsigned index, instant at)
{
    host &each = *hosts_[index];
    if (at >= each.wakes_at)
        return;
    each.wakes_at = at;
    schedule(at, sim_event_kind::host_pump, index);
}

std::uint32_t network::store(const flying &frame)
{
    if (free_frames_.empty()) {
        frames_.push_back(frame);
        return static_cast<std::uint32_t>(frames_.size() - 1);
    }
    const std::uint32_t index = free_frames_.back();
    free_frames_.pop_back();
    frames_[index] = frame;
    return index;
}

bool network::run(const std::function<bool()> &done, instant deadline)
{
    while (!done()) {
        if (events_.empty() || to_instant(events_.next_at()) > deadline) {
            now_ = deadline;
            return done();
        }
        const event next = events_.pop();
        now_ = to_instant(next.at);
        handle(next);
    }
    return true;
}

void network::handle(const event &what)
{
    if (what.kind() == sim_event_kind::arrival) {
        const flying frame = frames_[what.b];
        free_frames_.push_back(what.b);
        arrive(what.a, frame);
    } else if (what.kind() == sim_event_kind::fabric_event) {
        changes_[what.a]();
        wake(0, now_);
        wake(1, now_);
    } else if (now_ == hosts_[what.a]->wakes_at) { // else a wake-up that an earlier one superseded
        hosts_[what.a]->wakes_at = never;
        serve(what.a);
    }
}

void network::arrive(unsigned at, const flying &frame)
{
    host &here = *hosts_[at];
    if (here.dead)
        return;
    const unsigned slot = frame.how.path.value - 1;
    if (!here.ports.up.has(plane_index{static_cast<std::uint8_t>(plane_of(slot))})) {
        hit(fault::port_down);
        return;
    }
    std::uint64_t &latest = here.serial_arrived[slot];
    hit(fault::reorder, frame.serial < latest ? 1 : 0);
    latest = std::max(latest, frame.serial);
    // Probes are answered before the scheduler is asked, as the XDP program does.
    if (const auto *request = std::get_if<endpoint_request_packet>(&frame.content);
        request != nullptr && request->operation == MRC_EP_EV_PROBE) {
        reflect(at, *request, frame.how);
        return;
    }
    here.unread.push_back(frame);
    wake(at, now_);
}

void network::reflect(unsigned at, const endpoint_request_packet &request, const arrival &how)
{
    endpoint_response_packet response;
    response.request_id = request.request_id;
    response.operation = request.operation;
    response.tx_timestamp = request.tx_timestamp;
    fly(at, {response, {}, how.entropy, how.path, MRC_DSCP_CONTROL, MRC_ECN_NOT_ECT}, now_);
}

// One turn of a worker: receive, timers, send, completions.
void network::serve(unsigned index)
{
    host &here = *hosts_[index];
    if (here.dead)
        return;
    for (const interval &off : here.off_cpu) {
        if (off.holds(now_)) {
            hit(fault::pause);
            wake(index, off.to);
            return;
        }
    }
    here.receive(now_);
    if (here.status)
        here.status->watch(now_ + port_status_memory);
    for (const auto &end : here.ends)
        if (now_ >= end->qp.next_deadline())
            end->qp.on_timer(now_);
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
        wake(index, std::max(next, now_ + least_nap));
}

void network::transmit(unsigned index)
{
    host &here = *hosts_[index];
    while (here.status) {
        const auto update = here.status->next_packet(now_);
        if (!update)
            break;
        send(index, *update);
    }
    while (here.peer) {
        const auto probe = here.peer->next_packet(now_);
        if (!probe)
            break;
        send(index, *probe);
    }
    while (const auto probe = here.paths.next_packet(now_))
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
                const auto packet = end->qp.next_packet(now_);
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
    instant &free = here.port_free[plane];
    free = std::max(free, now_) + config_.serialisation;
    fly(from, packet, free);
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

flying network::make_frame(const host &from, const outgoing &packet)
{
    const path_model &path = from.out[packet.path.value - 1];
    flying frame{packet.content, {}, {}, 0};
    frame.how.entropy = packet.entropy;
    frame.how.path = packet.path;
    frame.how.congestion_experienced = packet.ecn == MRC_ECN_ECT0 && chance(path.congested);
    hit(fault::congestion, frame.how.congestion_experienced ? 1 : 0);
    if (auto *sack = std::get_if<sack_packet>(&frame.content); sack != nullptr && from.offered_mpr != 0)
        sack->mpr = std::min(sack->mpr, from.offered_mpr); // stays 0 where it was not negotiated
    if (const auto *data = std::get_if<data_packet>(&packet.content)) {
        frame.payload = std::span{from.source}.subspan(packet.payload.address, packet.payload.bytes);
        frame.how.wire_bytes = nominal_bytes(data->payload_bytes);
    }
    const bool may_be_trimmed = packet.dscp == MRC_DSCP_TRIMMABLE || packet.dscp == MRC_DSCP_TRIMMABLE_RETX;
    if (may_be_trimmed && chance(path.trimmed))
        trim(frame, path);
    return frame;
}

void network::trim(flying &frame, const path_model &path)
{
    frame.how.trimmed = true;
    frame.how.trimmed_last_hop = chance(path.last_hop);
    frame.how.congestion_experienced = false;
    frame.payload = {};
    frame.how.wire_bytes = 0;
    hit(frame.how.trimmed_last_hop ? fault::trim_last_hop : fault::trim);
    if (auto *data = std::get_if<data_packet>(&frame.content); data != nullptr && chance(10 * path.corrupt)) {
        hit(fault::garbled_trim);
        garble(*data, random_);
    }
}

void network::fly(unsigned from, const outgoing &packet, instant departs)
{
    host &here = *hosts_[from];
    const unsigned slot = packet.path.value - 1;
    const path_model &path = here.out[slot];
    if (swallowed(here, slot, departs))
        return;
    flying frame = make_frame(here, packet);
    frame.serial = ++here.serial_out[slot];
    const unsigned copies = chance(path.duplicate) ? 2 : 1;
    hit(fault::duplicate, copies - 1);
    for (unsigned copy = 0; copy < copies; ++copy) {
        instant at = departs + path.delay + up_to(path.jitter);
        if (chance(path.overtake)) {
            at += up_to(5 * path.delay);
        } else {
            at = std::max(at, here.last_out[slot]);
            here.last_out[slot] = at;
        }
        frame.how.at = at;
        schedule(at, sim_event_kind::arrival, 1 - from, store(frame));
    }
}

} // namespace mrc::sim
