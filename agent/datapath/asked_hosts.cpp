// SPDX-License-Identifier: Apache-2.0
#include "datapath/asked_hosts.h"

#include <algorithm>

namespace mrc::datapath
{

using protocol::instant;
using protocol::plane_index;
using protocol::plane_mask;

namespace
{

plane_mask reach(const protocol::port_status &ports, const protocol::peer_planes &planes)
{
    return ports.peer_ports() & plane_mask{~planes.suspected().bits()};
}

plane_mask reach(const worker_peer &host)
{
    return reach(*host.ports, *host.planes);
}

} // namespace

asked_hosts::asked_hosts(const protocol::path_group &paths, const worker_peer &first)
    : paths_{&paths}, hosts_{{.peer = first}}, asked_(paths.size())
{
}

bool asked_hosts::on_use(const worker_peer &host, instant now)
{
    for (std::size_t step = 0; step < hosts_.size(); ++step) {
        const std::size_t at = (next_used_ + step) % hosts_.size();
        if (!same_host(hosts_[at].peer, host))
            continue;
        hosts_[at].used = now;
        next_used_ = at + 1;
        return false;
    }
    hosts_.push_back({.peer = host, .used = now});
    next_used_ = 0;
    return true;
}

void asked_hosts::forget_unused(instant now)
{
    const instant last = std::ranges::max(hosts_, {}, &host_in_use::used).used;
    std::erase_if(hosts_, [&](const host_in_use &host) { return host.used != last && host.used < now - memory; });
}

// Of a host that forget_unused() has left out there may be questions still.
bool asked_hosts::forget(const host_set &gone)
{
    std::erase_if(hosts_, [&](const host_in_use &host) { return gone.contains(host.peer.ports); });
    next_used_ = 0;
    for (record &path : asked_) {
        if (gone.contains(path.missed.ports))
            path.missed = {};
        if (gone.contains(path.last.ports)) {
            path.last = {};
            path.awaiting = false;
        }
    }
    return !hosts_.empty();
}

bool asked_hosts::contain(const worker_peer &host) const
{
    return std::ranges::any_of(hosts_, [&](const host_in_use &each) { return same_host(each.peer, host); });
}

plane_mask asked_hosts::reachable() const
{
    std::uint32_t planes = 0;
    for (const host_in_use &host : hosts_) {
        planes |= reach(host.peer).bits();
        if ((paths_->usable() & plane_mask{~planes}).empty())
            break;
    }
    return plane_mask{planes};
}

std::size_t asked_hosts::position_of(const protocol::port_status *ports) const
{
    const auto at = std::ranges::find(hosts_, ports, [](const host_in_use &host) { return host.peer.ports; });
    return at == hosts_.end() ? 0 : static_cast<std::size_t>(at - hosts_.begin());
}

std::size_t asked_hosts::first_choice(std::uint16_t slot, std::uint16_t request_id, instant now)
{
    const record &path = asked_[slot];
    const bool of_answers = protocol::reverse_ids.contains(request_id);
    if (path.awaiting && !of_answers)
        return position_of(path.last.ports) + 1;
    if (protocol::path_probe_ids.contains(request_id) && path.last.ports != nullptr)
        return position_of(path.last.ports);
    if (now != round_at_) { // what is asked at one time is a round
        round_at_ = now;
        ++round_;
    }
    return round_ + slot % paths_->uplinks();
}

const worker_peer &asked_hosts::ask(std::uint16_t slot, std::uint16_t request_id, instant now)
{
    const plane_index plane = paths_->path(slot).plane;
    std::size_t at = first_choice(slot, request_id, now) % hosts_.size();
    for (std::size_t step = 1; step < hosts_.size() && !reach(hosts_[at].peer).has(plane); ++step)
        at = (at + 1) % hosts_.size();
    const worker_peer &host = hosts_[at].peer;
    if (protocol::reverse_ids.contains(request_id))
        return host;
    record &path = asked_[slot];
    path.missed = path.awaiting && now - path.last.sent_at >= patience ? path.last : question{};
    path.last = {.ports = host.ports, .planes = host.planes, .sent_at = now};
    path.request_id = request_id;
    path.awaiting = true;
    host.planes->on_sent(plane);
    return host;
}

void asked_hosts::on_answer(const worker_peer &host, std::uint16_t request_id, instant now)
{
    if (protocol::reverse_ids.contains(request_id))
        return;
    const auto path = std::ranges::find_if(asked_, [&](const record &each) {
        return each.awaiting && each.request_id == request_id && each.last.ports == host.ports;
    });
    if (path == asked_.end())
        return;
    const plane_index plane = paths_->path(static_cast<unsigned>(path - asked_.begin())).plane;
    path->awaiting = false;
    host.planes->on_delivered(plane, path->last.sent_at);
    if (path->missed.ports != nullptr && path->missed.ports != host.ports)
        report_missed(path->missed, plane, now);
    path->missed = {};
}

void asked_hosts::report_missed(const question &missed, plane_index plane, instant now) const
{
    if (!missed.planes->suspected().has(plane) && missed.planes->on_missing(plane, missed.sent_at))
        (void)missed.planes->suspect(plane, paths_->usable() & reach(*missed.ports, *missed.planes), now);
}

} // namespace mrc::datapath
