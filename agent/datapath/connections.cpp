// SPDX-License-Identifier: Apache-2.0
#include "datapath/connections.h"

namespace mrc::datapath
{

void connections::add(const worker_qp &qp)
{
    users &of_far_end = users_[{qp.peer.ports, qp.peer_number.value}];
    of_far_end.client = qp.client;
    ++of_far_end.queue_pairs;
    const auto [known, is_new] = at_.try_emplace({qp.peer.ports, qp.peer.paths}, peers_.size());
    if (is_new)
        peers_.push_back({.peer = qp.peer});
    ++peers_[known->second].queue_pairs;
}

void connections::remove(const worker_qp &qp)
{
    const auto of_far_end = users_.find({qp.peer.ports, qp.peer_number.value});
    if (--of_far_end->second.queue_pairs == 0)
        users_.erase(of_far_end);
    const auto known = at_.find({qp.peer.ports, qp.peer.paths});
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
    const auto known = users_.find({peer.ports, number.value});
    return known == users_.end() ? nullptr : known->second.client;
}

} // namespace mrc::datapath
