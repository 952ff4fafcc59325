// SPDX-License-Identifier: Apache-2.0
// Which peers the queue pairs of this host are connected to, and whose they are. Every step costs the same, however
// many queue pairs and peers there are; peers() is as long as the list of hosts in use, not of queue pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "datapath/probe_targets.h"
#include "datapath/worker_client.h"

namespace mrc::datapath
{

class connections
{
public:
    // A host with one of its path groups: each EV profile has its own.
    struct peer_in_use {
        worker_peer peer;
        std::size_t queue_pairs = 0;
    };

    void add(const worker_qp &qp);
    void remove(const worker_qp &qp); // that was added
    // A queue pair of another worker of this host is connected to the peer, or not any more: it is in use here, too.
    void add_use(const worker_peer &peer);
    void remove_use(const worker_peer &peer);
    // Whose queue pairs are connected to the peer's queue pair `number`; null: nobody's. The service sees to it that
    // they are one client's.
    [[nodiscard]] const worker_client *client_of(const worker_peer &peer, protocol::qpn number) const;
    [[nodiscard]] std::span<const peer_in_use> peers() const { return peers_; }

private:
    struct far_end {
        std::uint32_t host = 0; // its number; 0: this one
        std::uint32_t number = 0;
        bool operator==(const far_end &) const = default;
    };
    struct host_paths {
        const protocol::port_status *host = nullptr;
        const protocol::path_group *paths = nullptr;
        bool operator==(const host_paths &) const = default;
    };
    struct hash {
        std::size_t operator()(const far_end &key) const
        {
            return std::hash<std::uint64_t>{}(std::uint64_t{key.host} << 32 | key.number);
        }
        std::size_t operator()(const host_paths &key) const
        {
            return std::hash<const void *>{}(key.host) * 31 + std::hash<const void *>{}(key.paths);
        }
    };
    struct users {
        const worker_client *client = nullptr;
        std::size_t queue_pairs = 0;
    };

    std::unordered_map<far_end, users, hash> users_;
    std::vector<peer_in_use> peers_;
    std::unordered_map<host_paths, std::size_t, hash> at_; // in peers_
};

} // namespace mrc::datapath
