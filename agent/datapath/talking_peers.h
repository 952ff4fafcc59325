// SPDX-License-Identifier: Apache-2.0
// The peers that this host has something to tell of its ports, or to ask of their planes: each once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <unordered_map>

#include "datapath/schedule.h"
#include "datapath/worker_peer.h"

namespace mrc::datapath
{

class talking_peers
{
public:
    [[nodiscard]] bool contains(const worker_peer &peer) const { return peers_.contains(peer.ports); }
    [[nodiscard]] std::size_t size() const { return peers_.size(); }
    void add(const worker_peer &peer)
    {
        std::unique_ptr<talking_peer> &entry = peers_[peer.ports];
        if (entry)
            return;
        entry = std::make_unique<talking_peer>(peer);
        schedule_.add(*entry);
        peer.ports->attend(entry.get());
        peer.planes->attend(entry.get());
    }
    void forget(const host_set &gone)
    {
        erase_if([&](const talking_peer &entry) { return gone.contains(entry.peer.ports); });
    }
    // Those that have nothing due any more.
    void forget_quiet()
    {
        erase_if([](const talking_peer &entry) { return entry.next_deadline() == protocol::never; });
    }
    // This host's ports are not what they were: all may have something to be told.
    void hurry()
    {
        for (const auto &[ports, entry] : peers_)
            schedule_.hurry(*entry);
    }

    // Calls `serve(const worker_peer &)` for those that may have something due, until it returns false.
    template <typename Server>
    void serve(protocol::instant now, Server serve)
    {
        look();
        schedule_.serve(now, [&](const talking_peer &entry) { return serve(entry.peer); });
    }
    [[nodiscard]] protocol::instant next_deadline()
    {
        look();
        return schedule_.next_deadline();
    }
    // schedule.h
    [[nodiscard]] std::uint64_t looks() const { return schedule_.looks(); }

private:
    struct talking_peer : scheduled {
        explicit talking_peer(const worker_peer &of) : peer{of} {}
        [[nodiscard]] protocol::instant next_deadline() const
        {
            return std::min(peer.ports->next_deadline(), peer.planes->next_deadline());
        }

        worker_peer peer;
    };

    void look()
    {
        schedule_.look([](const talking_peer &) {});
    }
    template <typename Predicate>
    void erase_if(Predicate gone)
    {
        std::erase_if(peers_, [&](const auto &each) {
            talking_peer &entry = *each.second;
            if (!gone(entry))
                return false;
            entry.peer.ports->attend(nullptr);
            entry.peer.planes->attend(nullptr);
            schedule_.remove(entry);
            return true;
        });
    }

    std::unordered_map<const protocol::port_status *, std::unique_ptr<talking_peer>> peers_;
    schedule<talking_peer> schedule_;
};

} // namespace mrc::datapath
