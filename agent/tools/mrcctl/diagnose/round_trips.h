// SPDX-License-Identifier: Apache-2.0
// Packets that mrcctl itself sends by ways of its choice through an SRv6 fabric, and that come back: the daemon need
// not run. What turns back at a switch is addressed to this host, with no next header (RFC 8200 section 4.7), which the
// kernel drops; what goes to a peer is an ICMPv6 echo request.
#pragma once

#include <cstdint>
#include <vector>

#include "mrc/abi/maps.h"
#include "tools/mrcctl/diagnose/snapshot.h"
#include "tools/mrcctl/maps.h"
#include "tools/mrcctl/peers.h"

namespace mrc::ctl::diagnose
{

struct trip_route {
    trip_key key{};
    mrc_ip carrier{}; // outer destination
    mrc_ip target{};  // inner destination
};

// All ways that tell links and switches toward these peers apart, by ports that are usable; none in direct mode. And
// the own leaf's number; nowhere: not known.
struct route_plan {
    std::vector<trip_route> routes{};
    std::uint32_t own_leaf = nowhere;
};
[[nodiscard]] route_plan plan_routes(const host_maps &maps, const std::vector<peer_place> &peers);

struct travel_pace {
    double seconds = 1;
    std::uint32_t most_of_route = 500; // packets a second
};
// Sends as many packets on each as fit into the time, and waits for them. Throws ctl_error where it may not, or the
// daemon's network namespace cannot be entered.
[[nodiscard]] trip_results travel(const host_maps &maps, const std::vector<trip_route> &routes,
                                  const travel_pace &pace);

} // namespace mrc::ctl::diagnose
