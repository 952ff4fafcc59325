// SPDX-License-Identifier: Apache-2.0
#include "sim/engine.h"

#include <limits>

namespace mrc::sim
{

namespace
{

constexpr std::uint64_t progress_every = 1 << 16; // events

} // namespace

engine::engine(const fabric_config &config, std::uint32_t largest_payload, std::uint64_t seed)
    : topology{config, largest_payload}, random_{seed}
{
}

bool engine::run(picoseconds end, const std::function<void(picoseconds)> &progress)
{
    stopped_ = false;
    while (!stopped_) {
        if (!step(end))
            return false;
        if (handled_ % progress_every == 0)
            progress(now_);
    }
    return true;
}

bool engine::step(picoseconds end)
{
    if (events_.empty() || events_.next_at() > end) {
        now_ = end;
        return false;
    }
    const event next = events_.pop();
    if (!events_.empty())
        prefetch(events_.next());
    now_ = next.at;
    ++handled_;
    dispatch(next);
    return true;
}

// With many hosts a frame and a port have left the caches between two hops.
void engine::prefetch(const event &soon) const
{
    if (soon.kind() == sim_event_kind::arrival) {
        __builtin_prefetch(&topology.ports[soon.a]);
        __builtin_prefetch(&frames[soon.b]);
    } else if (soon.kind() == sim_event_kind::port_free) {
        __builtin_prefetch(&topology.ports[soon.a]);
    }
}

void engine::dispatch(const event &next)
{
    switch (next.kind()) {
    case sim_event_kind::arrival:
        arrive(next.a, next.b);
        return;
    case sim_event_kind::port_free:
        topology.ports[next.a].wakes = false;
        transmit(next.a);
        return;
    case sim_event_kind::host_pump:
        hosts_[next.a]->pump();
        return;
    case sim_event_kind::queue_pair:
        hosts_[next.a]->on_queue_pair_timer(next.b);
        return;
    case sim_event_kind::path_group:
        hosts_[next.a]->on_path_group_timer(next.b);
        return;
    case sim_event_kind::carrier:
        hosts_[next.a]->on_carrier(next.b >> 1, (next.b & 1) != 0);
        return;
    case sim_event_kind::fabric_event:
    case sim_event_kind::sample:
    case sim_event_kind::workload:
        listener_->on_event(next);
        return;
    }
}

void engine::forward(port_id to, frame_index index)
{
    output_port &port = topology.ports[to];
    if (port.admit(frames, index) == admission::dropped) {
        frames.give_back(index);
        return;
    }
    if (now_ >= port.busy_until) {
        transmit(to);
    } else if (!port.wakes) {
        port.wakes = true;
        schedule(port.busy_until, sim_event_kind::port_free, to);
    }
}

void engine::transmit(port_id from)
{
    output_port &port = topology.ports[from];
    if (port.wakes || now_ < port.busy_until)
        return;
    const frame_index index = port.take(frames, random_);
    if (index == no_frame)
        return;
    const std::uint32_t bytes = frames[index].wire_bytes;
    ++port.counters.frames;
    port.counters.bytes += bytes;
    port.busy_until = now_ + port.serialisation(bytes);
    if (!port.idle()) {
        port.wakes = true;
        schedule(port.busy_until, sim_event_kind::port_free, from);
    }
    if (!port.up) {
        ++port.counters.dropped_cut;
        frames.give_back(index);
    } else if (port.loss_threshold != 0 && random_.next() < port.loss_threshold) {
        ++port.counters.dropped_loss;
        frames.give_back(index);
    } else if (port.model != nullptr) {
        deliver(from, index);
    } else {
        schedule(port.busy_until + port.delay(), sim_event_kind::arrival, from, index);
    }
    if (port.pumped_host >= 0)
        hosts_[static_cast<std::size_t>(port.pumped_host)]->pump();
}

void engine::deliver(port_id over, frame_index index)
{
    output_port &port = topology.ports[over];
    const deliveries found = port.model->carry(frames[index], port.busy_until + port.delay());
    if (found.count == 0) {
        ++port.counters.dropped_loss;
        frames.give_back(index);
        return;
    }
    for (unsigned copy = 1; copy < found.count; ++copy) {
        const frame_index another = frames.take();
        frames[another] = frames[index];
        schedule(found.at[copy], sim_event_kind::arrival, over, another);
    }
    schedule(found.at[0], sim_event_kind::arrival, over, index);
}

void engine::arrive(port_id over, frame_index index)
{
    output_port &port = topology.ports[over];
    if (!port.up) { // cut while the frame was on the wire
        ++port.counters.dropped_cut;
        frames.give_back(index);
        return;
    }
    ++hops_;
    frame &each = frames[index];
    if (++each.hop < each.hops) {
        forward(each.route[each.hop], index);
        return;
    }
    // The pool may grow while the host answers.
    const frame copy = each;
    frames.give_back(index);
    hosts_[topology.host_behind(over)]->on_frame(copy);
}

void engine::set_link(const link_ports &link, bool up, bool carrier)
{
    topology.ports[link.out].up = up;
    topology.ports[link.back].up = up;
    if (!topology.is_host_link(link) || (!carrier && !up))
        return;
    const auto host = static_cast<std::uint32_t>(topology.ports[link.out].pumped_host);
    const std::uint32_t plane = topology.plane_of_host_port(link.out);
    schedule(now_ + topology.config().carrier_delay, sim_event_kind::carrier, host, plane << 1 | (up ? 1u : 0u));
}

void engine::set_loss(port_id one_way, double probability)
{
    topology.ports[one_way].loss_threshold =
        probability >= 1 ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(probability * 0x1p64);
}

} // namespace mrc::sim
