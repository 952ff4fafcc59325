// SPDX-License-Identifier: Apache-2.0
#include "datapath/waiting_queue_pairs.h"

#include <algorithm>
#include <utility>

#include "protocol/send/requester_state.h"

namespace mrc::datapath
{

void waiting_queue_pairs::enter(worker_qp &qp)
{
    std::unique_ptr<waiting_room> &room = rooms_[{qp.peer.ports, qp.peer.paths}];
    if (!room) {
        room = std::make_unique<waiting_room>();
        room->peer = qp.peer;
        use_ports(qp.peer.paths->local());
    }
    ++room->queue_pairs;
    qp.room = room.get();
}

void waiting_queue_pairs::leave(worker_qp &qp)
{
    remove(qp);
    if (--qp.room->queue_pairs == 0) {
        release_ports(qp.peer.paths->local());
        rooms_.erase({qp.peer.ports, qp.peer.paths});
    }
    qp.room = nullptr;
}

void waiting_queue_pairs::add(worker_qp &qp)
{
    waiting_room &room = *qp.room;
    if (!room.links.listed) {
        (void)note_ways(room);
        occupied_.push_back(room);
    }
    room.members.push_back(qp);
}

void waiting_queue_pairs::remove(worker_qp &qp)
{
    if (!qp.waiting.listed)
        return;
    waiting_room &room = *qp.room;
    room.members.remove(qp);
    if (room.members.front() == nullptr)
        occupied_.remove(room);
}

void waiting_queue_pairs::use_ports(const protocol::local_ports &ports)
{
    auto used = std::ranges::find(ports_, &ports, &ports_in_use::ports);
    if (used == ports_.end())
        used = ports_.insert(used, {.ports = &ports});
    ++used->rooms;
}

void waiting_queue_pairs::release_ports(const protocol::local_ports &ports)
{
    const auto used = std::ranges::find(ports_, &ports, &ports_in_use::ports);
    if (--used->rooms == 0)
        ports_.erase(used);
}

bool waiting_queue_pairs::note_ports()
{
    bool changed = false;
    for (ports_in_use &each : ports_) {
        changed |= each.up != each.ports->up || each.ways_changed != each.ports->ways_changed;
        each.up = each.ports->up;
        each.ways_changed = each.ports->ways_changed;
    }
    return changed;
}

bool waiting_queue_pairs::note_ways(waiting_room &room)
{
    const worker_peer &to = room.peer;
    const protocol::plane_mask carrying = protocol::route{*to.paths, to.ports->peer_ports(), *to.planes}.carrying();
    const bool same = carrying == room.carrying && to.paths->silence_generation() == room.silences;
    room.carrying = carrying;
    room.silences = to.paths->silence_generation();
    return !same;
}

} // namespace mrc::datapath
