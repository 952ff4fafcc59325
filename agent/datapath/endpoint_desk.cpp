// SPDX-License-Identifier: Apache-2.0
#include "datapath/endpoint_desk.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace mrc::datapath
{

using namespace std::chrono_literals;
using protocol::instant;

namespace
{

// A peer is told of this host's ports, and its paths and suspected planes are probed, so long after it was last used.
constexpr auto peer_memory = 3s;

bool before(const worker_peer &a, const worker_peer &b)
{
    return std::memcmp(a.address.bytes, b.address.bytes, sizeof(a.address.bytes)) < 0;
}

} // namespace

bool same_address(const mrc_ip &a, const mrc_ip &b)
{
    return std::memcmp(a.bytes, b.bytes, sizeof(a.bytes)) == 0;
}

endpoint_desk::endpoint_desk(surroundings around) : around_{std::move(around)}, targets_{around_.paths, around_.overlay}
{
}

void endpoint_desk::add_peer(const worker_peer &peer)
{
    peers_.insert(std::ranges::upper_bound(peers_, peer, before), peer);
    targets_.add(peer);
}

void endpoint_desk::add_peer_address(worker_peer peer, const mrc_ip &address)
{
    peer.address = address;
    peers_.insert(std::ranges::upper_bound(peers_, peer, before), peer);
}

void endpoint_desk::forget(const host_set &hosts, const group_set &paths)
{
    const auto is_gone = [&](const worker_peer &peer) { return hosts.contains(peer.ports); };
    std::erase_if(peers_, is_gone);
    talking_.forget(hosts);
    targets_.forget(hosts, paths);
    const auto of_gone = std::ranges::remove_if(answers_, [&](const answer &one) { return is_gone(one.to); });
    answers_.erase(of_gone.begin(), of_gone.end());
}

const worker_peer *endpoint_desk::find_peer(const mrc_ip &address) const
{
    const auto at = std::ranges::lower_bound(peers_, worker_peer{.address = address}, before);
    return at != peers_.end() && same_address(at->address, address) ? &*at : nullptr;
}

// Of the queue pair's peer, what is the host's: its path group may go with the queue pair.
void endpoint_desk::talk_to(const worker_peer &peer)
{
    if (!talking_.contains(peer))
        talking_.add(*find_peer(peer.address));
}

void endpoint_desk::watch(std::span<const connections::peer_in_use> used, instant now)
{
    talking_.forget_quiet();
    for (const connections::peer_in_use &host : used) {
        if (host.peer.own_host) // which needs not be asked whether it can be reached
            continue;
        targets_.on_use(host.peer, now);
        host.peer.paths->watch_idle(now + peer_memory);
        if (around_.speaks)
            host.peer.ports->watch(now + peer_memory);
        watch_planes(host.peer, now);
    }
    for (const worker_peer &host : targets_.watch_overlay(now))
        watch_planes(host, now);
}

void endpoint_desk::watch_planes(const worker_peer &peer, instant now)
{
    peer.planes->watch(now + peer_memory);
    if (peer.planes->follow(now) && around_.on_peer_change)
        around_.on_peer_change(peer);
    talk_to(peer);
}

instant endpoint_desk::next_deadline()
{
    return std::min({batches_.next_deadline(), targets_.next_deadline(), talking_.next_deadline()});
}

std::size_t endpoint_desk::transmit(instant now)
{
    std::size_t sent = 0;
    while (!answers_.empty() && around_.output.ready()) {
        const answer &next = answers_.back();
        around_.output.send(next.to.address, next.to.host_usid, next.packet);
        answers_.pop_back();
        ++sent;
    }
    sent += transmit_probes(now);
    sent += transmit_to_peers(now);
    return sent + transmit_batches();
}

std::size_t endpoint_desk::transmit_probes(instant now)
{
    return targets_.transmit(
        now, [this] { return around_.output.ready(); },
        [this](const probe_targets::probe &due) {
            around_.output.send(due.to->address, due.to->host_usid, due.packet);
        });
}

std::size_t endpoint_desk::transmit_to_peers(instant now)
{
    std::size_t sent = 0;
    talking_.serve(now, [&](const worker_peer &peer) {
        const protocol::plane_mask reachable = peer.ports->peer_ports();
        sent += drain(peer, [&] { return peer.ports->next_packet(now); });
        if (peer.ports->peer_ports() != reachable && around_.on_peer_change) // what it told is forgotten
            around_.on_peer_change(peer);
        sent += drain(peer, [&] { return peer.planes->next_packet(now); });
        return around_.output.ready();
    });
    return sent;
}

// Sent at once, with the time as it is then: what is measured is the network.
std::size_t endpoint_desk::transmit_batches()
{
    if (batches_.idle())
        return 0;
    std::size_t sent = 0;
    while (around_.output.ready()) {
        const auto next = batches_.next_packet(around_.clock());
        if (!next)
            break;
        const auto &to = static_cast<const worker_batch *>(next->batch)->destinations[next->request];
        around_.output.send(to.address, to.host_usid, next->packet);
        ++sent;
    }
    if (sent != 0)
        around_.output.flush();
    while (auto *batch = static_cast<worker_batch *>(batches_.next_finished(around_.clock()))) {
        batch->done = true; // not to be touched any more
        if (around_.on_batch_done)
            around_.on_batch_done();
    }
    return sent;
}

mrc_verdict endpoint_desk::on_packet(const codec::decoded &packet, const protocol::arrival &how, instant now)
{
    const worker_peer *peer = find_peer(packet.source);
    return peer == nullptr ? MRC_AGENT_DROP_WRONG_PEER : on_peer_packet(*peer, packet, how, now);
}

mrc_verdict endpoint_desk::on_peer_packet(const worker_peer &peer, const codec::decoded &packet,
                                          const protocol::arrival &how, instant now)
{
    if (const auto *response = std::get_if<protocol::endpoint_response_packet>(&packet.content))
        return on_response(peer, *response, how) ? MRC_AGENT_ACCEPTED : MRC_AGENT_DROP_UNASKED;
    const auto *request = std::get_if<protocol::endpoint_request_packet>(&packet.content);
    if (request != nullptr && request->operation == MRC_EP_PORT_STATUS_UPDATE)
        return on_port_status(peer, *request, how, now);
    if (request == nullptr || request->operation != MRC_EP_EV_PROBE)
        return MRC_AGENT_DROP_UNASKED;
    return answer_probe(peer, *request, how, now);
}

// Back on the path whose EV it came with; host_rx answers most of them, but for those in IPv4, before they get here.
mrc_verdict endpoint_desk::answer_probe(const worker_peer &peer, const protocol::endpoint_request_packet &request,
                                        const protocol::arrival &how, instant now)
{
    if (answers_.size() == answers_.capacity() || !answer_limit_.take(now))
        return MRC_AGENT_DROP_RATE;
    answers_.push_back({.to = peer,
                        .packet = {.content = protocol::endpoint_response_packet{.request_id = request.request_id,
                                                                                 .operation = MRC_EP_EV_PROBE,
                                                                                 .tx_timestamp = request.tx_timestamp},
                                   .payload = {},
                                   .entropy = how.entropy,
                                   .path = peer.ports->path_for_answer(how.path),
                                   .dscp = MRC_DSCP_CONTROL,
                                   .ecn = MRC_ECN_NOT_ECT}});
    return MRC_AGENT_ACCEPTED;
}

// Request ids tell who asked (request_ids.h); those of updates are a peer's, whoever sends them.
bool endpoint_desk::on_response(const worker_peer &peer, const protocol::endpoint_response_packet &response,
                                const protocol::arrival &how)
{
    const std::uint16_t id = response.request_id;
    if (protocol::batch_probe_ids.contains(id) || protocol::port_status_ids.contains(id)) {
        if (batches_.on_response(*peer.ports, response, how))
            return true;
        return protocol::port_status_ids.contains(id) && peer.ports->on_response(response);
    }
    if (protocol::plane_probe_ids.contains(id))
        return peer.planes->on_packet(response, how);
    return targets_.on_response(peer, response, how);
}

mrc_verdict endpoint_desk::on_port_status(const worker_peer &peer, const protocol::endpoint_request_packet &request,
                                          const protocol::arrival &how, instant now)
{
    const protocol::plane_mask before = peer.ports->peer_ports();
    const auto outcome = peer.ports->on_request(request, how, now);
    talk_to(peer);
    if (peer.ports->peer_ports() != before && around_.on_peer_change)
        around_.on_peer_change(peer);
    switch (outcome) {
    case protocol::port_status::outcome::limited:
        return MRC_AGENT_DROP_RATE;
    case protocol::port_status::outcome::rejected:
        return MRC_AGENT_DROP_NO_PORT;
    default:
        return MRC_AGENT_ACCEPTED;
    }
}

} // namespace mrc::datapath
