// SPDX-License-Identifier: Apache-2.0
// A host that queue pairs are connected to, or that endpoint operations go to: packets that belong to no queue pair.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "mrc/abi/ip.h"
#include "protocol/congestion/congestion_control.h"
#include "protocol/paths/path_group.h"
#include "protocol/paths/peer_planes.h"
#include "protocol/paths/port_status.h"
#include "protocol/send/loss_detector.h"

namespace mrc::datapath
{

struct worker_peer {
    mrc_ip address{};
    std::uint16_t host_usid = 0;
    std::uint32_t number = 0; // 1…, of this host's peers
    protocol::path_group *paths = nullptr;
    protocol::port_status *ports = nullptr;
    protocol::peer_planes *planes = nullptr;
    protocol::sack_proofs *proofs = nullptr;            // those of `paths`; null: each QP has its own
    protocol::congestion_control *congestion = nullptr; // that its QPs share; null: each has its own
    bool own_host = false; // this one: packets to it go by loopback.h, and nothing asks or tells it anything
};

// Hosts, each by its port status, and path groups that are in use no more.
using host_set = std::unordered_set<const protocol::port_status *>;
using group_set = std::unordered_set<const protocol::path_group *>;

// Whichever of its addresses and path groups each has.
[[nodiscard]] inline bool same_host(const worker_peer &a, const worker_peer &b)
{
    return a.ports == b.ports;
}

} // namespace mrc::datapath
