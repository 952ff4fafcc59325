// SPDX-License-Identifier: Apache-2.0
// What is at fault, as far as it can be told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/mrcctl/diagnose/snapshot.h"

namespace mrc::ctl::diagnose
{

enum class cause {
    daemon,        // is dead, stopped, or cannot be asked
    port,          // of this host, out of use, for a reason that the kernel or the controller gives
    flapping_port, // of this host, in use again and again
    host_link,     // of this host, between a port and its leaf; or that leaf
    leaf,
    spine,
    leaf_spine_link, // between `leaf` and `spine`
    spine_or_link,   // which of both cannot be told apart
    leaf_or_link,    // likewise
    peer_link,       // of a peer, between its leaf and its port
    peer_port,       // the peer says that it is out of use
    peer_or_network, // direct mode: its port, or what is between
    plane_network,   // direct mode: this host's port, or the whole network of a plane
    peer_down,
    mtu,
    host_losses, // packets are lost on every port alike
    congestion,
    incast,
    slow_receiver,
    flooding_client,
    worker,
};
[[nodiscard]] std::string_view name_of(cause what);

// As seen from this host.
enum class direction { unknown, out, in, both };
[[nodiscard]] std::string_view name_of(direction which);

struct diagnosis_finding {
    cause what = cause::daemon;
    bool is_fault = true; // else a limit that is none's fault
    std::uint32_t plane = nowhere;
    std::uint32_t leaf = nowhere;
    std::uint32_t spine = nowhere;
    std::string device{};  // of this host's port
    std::string subject{}; // address of a peer, command and process of a client
    direction way = direction::unknown;
    double loss = 0;        // share of packets lost there; 1: all
    std::string sentence{}; // what is at fault
    std::string evidence{}; // from how many packets or paths that is known
    std::string advice{};   // a command or a cable
};
using findings = std::vector<diagnosis_finding>;

} // namespace mrc::ctl::diagnose
