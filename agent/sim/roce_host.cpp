// SPDX-License-Identifier: Apache-2.0
#include "sim/roce_host.h"

#include <algorithm>

namespace mrc::sim
{

namespace
{

roce_config config_of(const fabric &topology, const transport_config &transport)
{
    roce_config config;
    config.payload = transport.payload;
    config.line_gbps = topology.config().host_gbps;
    // Rate control is all that holds a sender back before loss: a window of what the deepest queue may hold.
    config.window_bytes = static_cast<std::uint64_t>((1 + topology.config().drop_at) * topology.plane_bdp_bytes());
    config.timeout = transport.roce_timeout;
    config.rate_control = transport.dcqcn;
    return config;
}

} // namespace

roce_host::roce_host(unsigned index, engine &clock, flow_table &flows, const transport_config &transport)
    : index_{index}, clock_{clock}, flows_{flows}, config_{config_of(clock.topology, transport)},
      turns_(clock.topology.config().planes)
{
}

void roce_host::add_queue(const queue_record &like)
{
    queues_.push_back(std::make_unique<queue_record>(like));
}

unsigned roce_host::connect(roce_host &source, roce_host &target, protocol::random_source &random)
{
    queue_record sender{source.config_};
    sender.peer_host = target.index_;
    sender.peer_queue = static_cast<unsigned>(target.queues_.size());
    sender.plane = random.below(source.clock_.topology.config().planes);
    sender.spine = random.below(source.clock_.topology.config().spines);
    sender.sends = true;
    queue_record receiver = sender;
    receiver.peer_host = source.index_;
    receiver.peer_queue = static_cast<unsigned>(source.queues_.size());
    receiver.sends = false;
    source.add_queue(sender);
    target.add_queue(receiver);
    return static_cast<unsigned>(source.queues_.size() - 1);
}

bool roce_host::post(unsigned queue, const message_part &part)
{
    queues_[queue]->sender.post(part);
    backlog(queue);
    clock_.schedule(clock_.now(), sim_event_kind::host_pump, index_);
    return true;
}

void roce_host::backlog(unsigned queue)
{
    queue_record &each = *queues_[queue];
    if (each.backlogged || !each.sender.may_send())
        return;
    each.backlogged = true;
    turns_[each.plane].push_back(queue);
}

void roce_host::pump()
{
    if (pumping_)
        return;
    pumping_ = true;
    for (unsigned plane = 0; plane < turns_.size(); ++plane)
        serve_port(plane);
    pumping_ = false;
}

void roce_host::serve_port(unsigned plane)
{
    std::deque<unsigned> &turns = turns_[plane];
    const output_port &port = clock_.topology.ports[clock_.topology.host_port(index_, plane)];
    const std::uint64_t room = nic_depth * (config_.payload + data_overhead_bytes);
    while (!turns.empty() && port.waiting_bytes() < room) {
        const unsigned queue = turns.front();
        queue_record &each = *queues_[queue];
        turns.pop_front();
        const auto packet = each.sender.next_packet(clock_.now());
        if (!packet) {
            each.backlogged = false;
            set_timer(queue);
            continue;
        }
        send(each, *packet, false);
        turns.push_back(queue);
    }
}

void roce_host::send(const queue_record &over, const roce_packet &packet, bool control)
{
    const frame_index index = clock_.take_frame();
    frame &fresh = clock_.frames[index];
    fresh = frame{};
    fresh.content = packet;
    fresh.target_queue = over.peer_queue;
    fresh.wire_bytes = control ? ack_wire_bytes : packet.payload_bytes + data_overhead_bytes;
    fresh.dscp = control ? MRC_DSCP_CONTROL : MRC_DSCP_NO_TRIM;
    fresh.ect = !control;
    fresh.control = control;
    clock_.topology.set_route(fresh, index_, over.peer_host, over.plane, over.spine);
    clock_.send(index);
}

void roce_host::on_frame(const frame &arrived)
{
    const roce_packet &packet = std::get<roce_packet>(arrived.content);
    const unsigned queue = arrived.target_queue;
    if (packet.kind == roce_kind::data) {
        receive(queue, packet, arrived.congestion_experienced);
        return;
    }
    queue_record &each = *queues_[queue];
    each.sender.on_packet(packet, clock_.now());
    while (const auto done = each.sender.next_completion())
        flows_.on_part_completed(done->flow, done->message, true);
    backlog(queue);
    set_timer(queue);
    pump();
}

void roce_host::receive(unsigned queue, const roce_packet &data, bool congested)
{
    queue_record &each = *queues_[queue];
    const roce_receiver::reaction reaction = each.receiver.on_data(data, congested, clock_.now());
    if (reaction.notify) {
        roce_packet notification;
        notification.kind = roce_kind::cnp;
        send(each, notification, true);
    }
    if (reaction.answer)
        send(each, *reaction.answer, true);
    if (reaction.accepted)
        flows_.on_bytes(data.flow, static_cast<std::uint32_t>(data.place >> 32), data.payload_bytes);
}

// The earlier of the retransmission timer and the pacing of the next packet.
void roce_host::set_timer(unsigned queue)
{
    queue_record &each = *queues_[queue];
    picoseconds at = each.sender.deadline();
    if (!each.backlogged && each.sender.may_send() && (at == no_time || each.sender.next_send_at() < at))
        at = std::max(each.sender.next_send_at(), clock_.now());
    if (at == no_time || (each.timer_at != no_time && each.timer_at <= at))
        return;
    each.timer_at = at;
    clock_.schedule(at, sim_event_kind::queue_pair, index_, queue);
}

void roce_host::on_queue_pair_timer(unsigned queue)
{
    queue_record &each = *queues_[queue];
    if (each.timer_at != clock_.now())
        return; // superseded
    each.timer_at = no_time;
    each.sender.on_timer(clock_.now());
    backlog(queue);
    set_timer(queue);
    pump();
}

} // namespace mrc::sim
