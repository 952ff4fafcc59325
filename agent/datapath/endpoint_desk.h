// SPDX-License-Identifier: Apache-2.0
// Endpoint operations: packets that belong to hosts and paths, not to queue pairs. Which hosts there are, what they ask
// of this one and what it answers, probes of paths and planes, port status updates, a controller's batches.
//
// received               by whom                                  answer, or where it goes
// EV probe               a known peer, within the rate            response on the probe's own path
// port status update     a known peer, within its rate            port_status, and its response
// response               by its request id (request_ids.h)        batches, port_status, peer_planes or path_group
// anything               anybody else                             dropped: wrong peer
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include <boost/container/static_vector.hpp>

#include "codec/frame_codec.h"
#include "datapath/connections.h"
#include "datapath/packet_output.h"
#include "datapath/probe_targets.h"
#include "datapath/talking_peers.h"
#include "datapath/worker_batch.h"
#include "protocol/paths/endpoint_batches.h"
#include "protocol/rate_limit.h"

namespace mrc::datapath
{

[[nodiscard]] bool same_address(const mrc_ip &a, const mrc_ip &b);

class endpoint_desk
{
public:
    struct surroundings {
        packet_output &output;
        const kernel::mapped_array<mrc_path_row> &paths;
        const kernel::mapped_array<mrc_overlay_row> &overlay;
        protocol::instant (*clock)() = nullptr; // a batch measures the network, so its packets are stamped one by one
        std::function<void(const worker_peer &)> on_peer_change; // its port status, or whether it is reached
        std::function<void()> on_batch_done;                     // of start_batch
        bool speaks = true;                                      // for the host: peers are told of its ports
    };

    explicit endpoint_desk(surroundings around);

    void add_peer(const worker_peer &peer);
    // A peer that was added is known by another address, too: what comes from there is answered there.
    void add_peer_address(worker_peer peer, const mrc_ip &address);
    // peer.paths, of an EV profile, to a known peer; its queue pairs come after it and go before it.
    void add_profile_group(const worker_peer &peer) { targets_.add_profile_group(peer); }
    // Peers, by all their addresses, and path groups: without queue pairs and batches.
    void forget(const host_set &hosts, const group_set &paths);
    // As probe_targets'.
    template <typename Visitor>
    void visit_changed(Visitor report)
    {
        targets_.visit_changed(report);
    }
    void forget_changed() { targets_.forget_changed(); }
    // This host's ports, or its ways to peers, are not what they were: peers are told by the next transmit().
    void ports_changed() { talking_.hurry(); }

    // The batch stays the caller's: until `done`, after which on_batch_done follows, or until it is taken back. False:
    // too many requests are under way.
    [[nodiscard]] bool start_batch(worker_batch &batch) { return batches_.start(batch); }
    void take_back(worker_batch &batch) { batches_.cancel(batch); }

    // Why the packet was taken or dropped.
    mrc_verdict on_packet(const codec::decoded &packet, const protocol::arrival &how, protocol::instant now);
    // What is due and the engines take. How many packets.
    std::size_t transmit(protocol::instant now);
    [[nodiscard]] protocol::instant next_deadline();
    // Whatever queue pairs or sockets use is watched for a while. To be called every probe_targets::watch_interval.
    void watch(std::span<const connections::peer_in_use> used, protocol::instant now);
    [[nodiscard]] const talking_peers &talking() const { return talking_; }
    [[nodiscard]] const probe_targets &targets() const { return targets_; }

private:
    // An endpoint response that waits for its turn to be sent.
    struct answer {
        worker_peer to;
        protocol::outgoing packet;
    };

    mrc_verdict on_peer_packet(const worker_peer &peer, const codec::decoded &packet, const protocol::arrival &how,
                               protocol::instant now);
    mrc_verdict on_port_status(const worker_peer &peer, const protocol::endpoint_request_packet &request,
                               const protocol::arrival &how, protocol::instant now);
    bool on_response(const worker_peer &peer, const protocol::endpoint_response_packet &response,
                     const protocol::arrival &how);
    mrc_verdict answer_probe(const worker_peer &peer, const protocol::endpoint_request_packet &request,
                             const protocol::arrival &how, protocol::instant now);
    std::size_t transmit_probes(protocol::instant now);
    std::size_t transmit_to_peers(protocol::instant now);
    std::size_t transmit_batches();
    void watch_planes(const worker_peer &peer, protocol::instant now);
    void talk_to(const worker_peer &peer);
    [[nodiscard]] const worker_peer *find_peer(const mrc_ip &address) const;
    // Sends what `next` gives while the engines take it.
    template <typename Source>
    std::size_t drain(const worker_peer &to, Source next)
    {
        std::size_t sent = 0;
        while (around_.output.ready()) {
            const std::optional<protocol::outgoing> packet = next();
            if (!packet)
                break;
            around_.output.send(to.address, to.host_usid, *packet);
            ++sent;
        }
        return sent;
    }

    surroundings around_;
    std::vector<worker_peer> peers_; // sorted by address
    talking_peers talking_;
    probe_targets targets_;
    boost::container::static_vector<answer, 64> answers_;
    protocol::endpoint_batches batches_{{}};
    protocol::rate_limit answer_limit_{protocol::endpoint_interval, protocol::endpoint_burst};
};

} // namespace mrc::datapath
