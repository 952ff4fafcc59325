// SPDX-License-Identifier: Apache-2.0
#include "datapath/connections.h"

namespace mrc::datapath
{

void connections::add(const worker_qp &qp)
{
    users &of_far_end = users_[{qp.peer.number, qp.peer_number.value}];
    of_far_end.client = qp.client;
    ++of_far_end.queue_pairs;
    add_use(qp.peer);
}

void connections::add_use(const worker_peer &peer)
{
    const auto [known, is_new] = at_.try_emplace({peer.ports, peer.paths}, peers_.size());
    if (is_new)
        peers_.push_back({.peer = peer});
    ++peers_[known->second].queue_pairs;
}

void connections::remove(const worker_qp &qp)
{
    const auto of_far_end = users_.find({qp.peer.number, qp.peer_number.value});
    if (--of_far_end->second.queue_pairs == 0)
        users_.erase(of_far_end);
    remove_use(qp.peer);
}

void connections::remove_use(const worker_peer &peer)
{
    const auto known = at_.find({peer.ports, peer.paths});
    const std::size_t place = known->second;
    if (--peers_[place].queue_pairs != 0)
        return;
    at_.erase(known);
    if (place + 1 != peers_.size()) {
        peers_[place] = peers_.back();
        at_[{peers_[place].peer.ports, peers_[place].peer.paths}] = place;
    }
    peers_.pop_back();
}

const worker_client *connections::client_of(const worker_peer &peer, protocol::qpn number) const
{
    const auto known = users_.find({peer.number, number.value});
    return known == users_.end() ? nullptr : known->second.client;
}

} // namespace mrc::datapath
