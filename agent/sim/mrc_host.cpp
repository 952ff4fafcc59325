// SPDX-License-Identifier: Apache-2.0
#include "sim/mrc_host.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>
#include <variant>

#include "datapath/fair_receive.h"
#include "protocol/packet_number.h"

namespace mrc::sim
{

using namespace protocol;

namespace
{

constexpr std::uint64_t nic_limit = 8; // frames waiting at one port, while queue pairs are asked for more
// A timer that is due at once must not stop the clock.
constexpr picoseconds least_wait = 500 * nanosecond;
constexpr std::uint32_t endpoint_queue = 0xFFFFFFFF;
const std::array<std::byte, 4096> zeros{};

std::uint32_t wire_bytes_of(const outgoing &packet)
{
    struct sizes {
        std::uint32_t operator()(const data_packet &data) const { return data.payload_bytes + data_overhead_bytes; }
        std::uint32_t operator()(const sack_packet &) const { return sack_wire_bytes; }
        std::uint32_t operator()(const nack_packet &) const { return nack_wire_bytes; }
        std::uint32_t operator()(const probe_packet &) const { return probe_wire_bytes; }
        std::uint32_t operator()(const transport_ack_packet &) const { return ack_wire_bytes; }
        std::uint32_t operator()(const endpoint_request_packet &) const { return probe_wire_bytes; }
        std::uint32_t operator()(const endpoint_response_packet &) const { return sack_wire_bytes; }
    };
    return std::visit(sizes{}, packet.content);
}

} // namespace

bool mrc_host::post(unsigned queue, const message_part &part)
{
    write_request request;
    request.id = std::uint64_t{part.flow} << 32 | part.message;
    request.source = {1, part.offset, part.bytes};
    request.remote_va = std::uint64_t{part.message} << 32 | part.offset;
    request.rkey = part.flow;
    if (!queues_[queue]->qp->post_write(request, shared_.clock.instant()))
        return false;
    backlog(queue);
    shared_.clock.schedule(shared_.clock.now(), sim_event_kind::host_pump, index_);
    return true;
}

void mrc_host::backlog(unsigned queue)
{
    queue_record &each = *queues_[queue];
    if (each.backlogged || !each.sends)
        return;
    each.backlogged = true;
    turns_.push_back(queue);
}

bool mrc_host::has_room() const
{
    const fabric &topology = shared_.clock.topology;
    const std::uint64_t packet = shared_.transport.payload + data_overhead_bytes;
    // A NIC asks for the next packet when it needs one; a worker fills a ring, and comes back in its next round.
    const bool fills = shared_.worker.in_rounds();
    const std::uint64_t limit = fills ? ring_size(shared_.worker) : nic_limit;
    std::uint64_t waiting = 0;
    std::uint64_t ports = 0;
    for (unsigned plane = 0; plane < topology.config().planes; ++plane) {
        if (!ports_.usable().has(protocol::plane_index{static_cast<std::uint8_t>(plane)}))
            continue;
        const std::uint64_t bytes = topology.ports[topology.host_port(index_, plane)].waiting_bytes();
        if (bytes >= limit * packet)
            return false;
        waiting += bytes;
        ++ports;
    }
    return fills ? ports != 0 : waiting < nic_depth * packet * ports;
}

void mrc_host::pump()
{
    if (pumping_)
        return;
    pumping_ = true;
    if (!shared_.worker.in_rounds())
        transmit(UINT64_MAX);
    else if (const picoseconds at = free_at(); at > shared_.clock.now())
        wake(at);
    else
        run_round();
    pumping_ = false;
}

picoseconds mrc_host::free_at()
{
    const picoseconds now = shared_.clock.now();
    if (now < time_.busy_until())
        return time_.busy_until();
    return time_.stalled_until(now).value_or(now);
}

void mrc_host::wake(picoseconds at)
{
    if (wakes_at_ > shared_.clock.now() && wakes_at_ <= at)
        return;
    wakes_at_ = at;
    shared_.clock.schedule(at, sim_event_kind::host_pump, index_);
}

// As worker::round() of agent/datapath/worker.cpp: reads, runs timers, sends.
void mrc_host::run_round()
{
    handled_ = 0;
    const auto received = datapath::receive_fairly(std::views::transform(unread_, [](auto &ring) { return &ring; }),
                                                   [this](const arrived_frame &each) { read(each.content, each.at); });
    if (timer_gate_.may_run(received.unread))
        for (const unsigned queue : std::exchange(due_, {}))
            run_timer(queue);
    transmit(shared_.worker.batch == 0 ? UINT64_MAX : shared_.worker.batch);
    if (received.frames + handled_ == 0)
        return;
    time_.begin_round(shared_.clock.now(), received.frames + handled_);
    const bool unread = std::ranges::any_of(unread_, [](const auto &ring) { return !ring.empty(); });
    if (unread || !due_.empty() || (!turns_.empty() && has_room()))
        wake(time_.busy_until());
}

void mrc_host::transmit(std::uint64_t most)
{
    const protocol::instant now = shared_.clock.instant();
    const std::int64_t quantum = shared_.transport.payload + data_overhead_bytes;
    while (most > 0 && !turns_.empty() && has_room()) {
        const unsigned queue = turns_.front();
        queue_record &each = *queues_[queue];
        const auto packet = each.qp->next_packet(now);
        if (!packet) {
            turns_.pop_front();
            each.backlogged = false;
            each.deficit = 0;
            set_timer(queue);
            continue;
        }
        --most;
        send(*packet, each.group, each.peer_host, each.peer_queue);
        each.deficit -= wire_bytes_of(*packet);
        if (each.deficit <= 0) {
            each.deficit += quantum;
            turns_.pop_front();
            turns_.push_back(queue);
        }
    }
}

void mrc_host::send(const outgoing &packet, unsigned group, unsigned to_host, unsigned to_queue)
{
    engine &clock = shared_.clock;
    group_record &way = *groups_[group];
    const unsigned slot = packet.path.value - group_base.value;
    const unsigned uplinks = way.paths->uplinks();
    const frame_index index = clock.take_frame();
    frame &fresh = clock.frames[index];
    fresh = frame{};
    fresh.content = packet.content;
    fresh.entropy = packet.entropy;
    fresh.path = packet.path;
    fresh.target_queue = to_queue;
    fresh.wire_bytes = wire_bytes_of(packet);
    fresh.dscp = packet.dscp;
    fresh.ect = packet.ecn == MRC_ECN_ECT0;
    fresh.control = packet.dscp == MRC_DSCP_CONTROL;
    clock.topology.set_route(fresh, index_, to_host, slot / uplinks, slot % uplinks);
    ++handled_;
    if (std::holds_alternative<data_packet>(packet.content))
        way.last_use[slot] = clock.now();
    clock.send(index);
}

// Probes are answered before the host is asked, as the XDP program does. The answer carries which of the asker's
// groups it belongs to, as its source address would tell.
void mrc_host::reflect(const frame &arrived)
{
    const auto &request = std::get<endpoint_request_packet>(std::get<packet>(arrived.content));
    engine &clock = shared_.clock;
    const frame_index index = clock.take_frame();
    frame &fresh = clock.frames[index];
    fresh = frame{};
    fresh.content = packet{endpoint_response_packet{request.request_id, request.operation, request.tx_timestamp}};
    fresh.entropy = arrived.entropy;
    fresh.path = arrived.path;
    fresh.target_queue = endpoint_queue;
    fresh.wire_bytes = sack_wire_bytes;
    fresh.dscp = MRC_DSCP_CONTROL;
    fresh.control = true;
    const unsigned asker = clock.topology.asking_host(arrived.route[0]);
    const unsigned slot = arrived.path.value - group_base.value;
    const unsigned uplinks = uplinks_of(arrived);
    clock.topology.set_route(fresh, index_, asker, slot / uplinks, slot % uplinks);
    clock.send(index);
}

unsigned mrc_host::uplinks_of(const frame &arrived) const
{
    return arrived.hops == 2 ? 1 : shared_.clock.topology.config().spines;
}

void mrc_host::on_frame(const frame &arrived)
{
    const protocol::instant now = shared_.clock.instant();
    const auto *request = std::get_if<endpoint_request_packet>(&std::get<packet>(arrived.content));
    if (request != nullptr && request->operation == MRC_EP_EV_PROBE) {
        reflect(arrived);
    } else if (!shared_.worker.in_rounds()) {
        read(arrived, now);
    } else {
        const unsigned slot = arrived.path.value - group_base.value;
        auto &ring = unread_[slot / uplinks_of(arrived)];
        overruns_ += ring.put({arrived, now}, shared_.worker.ring) ? 0 : 1;
        pump();
    }
}

// What arrived then.
void mrc_host::read(const frame &arrived, protocol::instant at)
{
    const auto &content = std::get<packet>(arrived.content);
    const protocol::instant now = shared_.clock.instant();
    arrival how;
    how.entropy = arrived.entropy;
    how.path = arrived.path;
    how.at = at;
    how.congestion_experienced = arrived.congestion_experienced;
    how.trimmed = arrived.trimmed;
    how.trimmed_last_hop = arrived.trimmed_last_hop;
    if (arrived.target_queue == endpoint_queue) {
        on_endpoint_frame(arrived, how);
        return;
    }
    const unsigned queue = arrived.target_queue;
    queue_record &each = *queues_[queue];
    std::span<const std::byte> payload;
    if (const auto *data = std::get_if<data_packet>(&content); data != nullptr && !arrived.trimmed) {
        payload = std::span{zeros}.first(data->payload_bytes);
        how.wire_bytes = nominal_bytes(data->payload_bytes);
    }
    each.qp->on_packet(content, payload, how, now);
    if (!each.sends) {
        answer(queue);
        return;
    }
    after_feedback(queue);
    pump();
}

// Request ids tell who asked: a path group or the port status of a peer.
void mrc_host::on_endpoint_frame(const frame &arrived, const arrival &how)
{
    const auto &content = std::get<packet>(arrived.content);
    const unsigned far_host = shared_.clock.topology.asking_host(arrived.route[0]);
    if (const auto *request = std::get_if<endpoint_request_packet>(&content)) {
        peer_of(far_host).ports->on_request(*request, how, shared_.clock.instant());
        follow_peer(far_host);
        return;
    }
    const auto &response = std::get<endpoint_response_packet>(content);
    if (protocol::port_status_ids.contains(response.request_id)) {
        (void)peer_of(far_host).ports->on_response(response);
        return;
    }
    const unsigned group = peer_of(far_host).group;
    groups_[group]->paths->on_packet(response, how);
    set_group_timer(group);
}

// Sends what is to be said about ports, and asks the queue pairs to the peer, whose planes may have changed.
void mrc_host::follow_peer(unsigned far_host)
{
    peer_record &peer = peer_of(far_host);
    while (const auto packet = peer.ports->next_packet(shared_.clock.instant()))
        send(*packet, peer.group, far_host, endpoint_queue);
    for (const unsigned queue : peer.queues)
        backlog(queue);
    const protocol::instant due = peer.ports->next_deadline();
    const picoseconds at = due == never ? no_time : std::max(from_instant(due), shared_.clock.now() + least_wait);
    if (at != no_time && (peer.timer_at == no_time || at < peer.timer_at)) {
        peer.timer_at = at;
        shared_.clock.schedule(at, sim_event_kind::path_group, index_, peer_timers + far_host);
    }
    pump();
}

void mrc_host::answer(unsigned queue)
{
    queue_record &each = *queues_[queue];
    const protocol::instant now = shared_.clock.instant();
    while (const auto packet = each.qp->next_packet(now))
        send(*packet, each.group, each.peer_host, each.peer_queue);
    set_group_timer(each.group); // paths that answers take are asked
}

void mrc_host::after_feedback(unsigned queue)
{
    queue_record &each = *queues_[queue];
    take_completions(queue);
    backlog(queue);
    set_timer(queue);
    set_group_timer(each.group);
}

void mrc_host::take_completions(unsigned queue)
{
    while (const auto done = queues_[queue]->qp->next_completion())
        shared_.flows.on_part_completed(static_cast<std::uint32_t>(done->id >> 32),
                                        static_cast<std::uint32_t>(done->id),
                                        done->status == completion_status::success);
}

void mrc_host::set_timer(unsigned queue)
{
    queue_record &each = *queues_[queue];
    const protocol::instant due = each.qp->next_deadline();
    if (due == never)
        return;
    const picoseconds at = std::max(from_instant(due), shared_.clock.now() + least_wait);
    if (each.timer_at != no_time && each.timer_at <= at)
        return;
    each.timer_at = at;
    shared_.clock.schedule(at, sim_event_kind::queue_pair, index_, queue);
}

void mrc_host::on_queue_pair_timer(unsigned queue)
{
    queue_record &each = *queues_[queue];
    if (each.timer_at != shared_.clock.now())
        return; // superseded
    each.timer_at = no_time;
    if (shared_.worker.in_rounds())
        due_.push_back(queue);
    else
        run_timer(queue);
    pump();
}

void mrc_host::run_timer(unsigned queue)
{
    queue_record &each = *queues_[queue];
    const protocol::instant now = shared_.clock.instant();
    if (now < each.qp->next_deadline()) {
        set_timer(queue);
        return;
    }
    each.qp->on_timer(now);
    after_feedback(queue);
}

// What a path group wants after anything that may have changed it.
void mrc_host::set_group_timer(unsigned group)
{
    group_record &each = *groups_[group];
    while (const auto change = each.paths->next_transition())
        shared_.changes.push_back(
            {shared_.clock.now(), index_, each.leaf, change->path.value - group_base.value, change->to});
    if (each.silences != each.paths->silence_generation()) {
        each.silences = each.paths->silence_generation();
        std::ranges::for_each(each.queues, [this](unsigned queue) { backlog(queue); });
        shared_.clock.schedule(shared_.clock.now(), sim_event_kind::host_pump, index_);
    }
    const protocol::instant due = each.paths->next_deadline();
    if (due == never)
        return;
    const picoseconds at = std::max(from_instant(due), shared_.clock.now() + least_wait);
    if (each.timer_at != no_time && each.timer_at <= at)
        return;
    each.timer_at = at;
    shared_.clock.schedule(at, sim_event_kind::path_group, index_, group);
}

void mrc_host::on_path_group_timer(unsigned group)
{
    if (group >= peer_timers) {
        peer_record &peer = peer_of(group - peer_timers);
        if (peer.timer_at != shared_.clock.now())
            return; // superseded
        peer.timer_at = no_time;
        follow_peer(group - peer_timers);
        return;
    }
    group_record &each = *groups_[group];
    if (each.timer_at != shared_.clock.now())
        return; // superseded
    each.timer_at = no_time;
    if (const picoseconds at = free_at(); shared_.worker.in_rounds() && at > shared_.clock.now()) {
        each.timer_at = at;
        shared_.clock.schedule(at, sim_event_kind::path_group, index_, group);
        return;
    }
    while (const auto probe = each.paths->next_packet(shared_.clock.instant()))
        send(*probe, group, each.far_host, endpoint_queue);
    set_group_timer(group);
}

void mrc_host::on_carrier(unsigned plane, bool up)
{
    ports_.up.set(protocol::plane_index{static_cast<std::uint8_t>(plane)}, up);
    for (unsigned queue = 0; queue < queues_.size(); ++queue)
        backlog(queue);
    for (unsigned far_host = 0; far_host < peers_.size(); ++far_host)
        if (peers_[far_host])
            follow_peer(far_host);
    pump();
}

} // namespace mrc::sim
