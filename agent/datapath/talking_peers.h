// SPDX-License-Identifier: Apache-2.0
// The peers that this host has something to tell of its ports, or to ask of their planes: each once.
#pragma once

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "datapath/probe_targets.h"

namespace mrc::datapath
{

[[nodiscard]] inline protocol::instant next_deadline_of(const worker_peer &peer)
{
    return std::min(peer.ports->next_deadline(), peer.planes->next_deadline());
}

class talking_peers
{
public:
    [[nodiscard]] bool contains(const worker_peer &peer) const { return known_.contains(peer.ports); }
    void add(const worker_peer &peer)
    {
        if (known_.insert(peer.ports).second)
            peers_.push_back(peer);
    }
    void forget(const host_set &gone)
    {
        std::erase_if(peers_, [&](const worker_peer &peer) { return gone.contains(peer.ports); });
        std::erase_if(known_, [&](const protocol::port_status *ports) { return gone.contains(ports); });
    }
    // Those that have nothing due any more.
    void forget_quiet()
    {
        std::erase_if(peers_, [this](const worker_peer &peer) {
            const bool quiet = next_deadline_of(peer) == protocol::never;
            if (quiet)
                known_.erase(peer.ports);
            return quiet;
        });
    }
    [[nodiscard]] auto begin() const { return peers_.begin(); }
    [[nodiscard]] auto end() const { return peers_.end(); }

private:
    std::vector<worker_peer> peers_;
    std::unordered_set<const protocol::port_status *> known_;
};

} // namespace mrc::datapath
