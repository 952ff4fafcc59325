// SPDX-License-Identifier: Apache-2.0
// Sums over a snapshot that several rules need.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/mrcctl/diagnose/finding.h"
#include "tools/mrcctl/diagnose/loss.h"
#include "tools/mrcctl/diagnose/snapshot.h"

namespace mrc::ctl::diagnose
{

// Zero for a way on which nothing was sent.
[[nodiscard]] trip_result on(const snapshot &at, const trip_key &way);
// Of all ways of this kind for which wanted(key) holds, small packets.
template <typename Wanted>
[[nodiscard]] tally sum_of(const snapshot &at, trip_kind kind, const Wanted &wanted)
{
    tally all;
    for (const auto &[key, result] : at.trips)
        if (key.kind == kind && wanted(key))
            all += result.small;
    return all;
}

[[nodiscard]] trip_key own_leaf_trip(std::uint32_t plane);
[[nodiscard]] trip_key spine_trip(std::uint32_t plane, std::uint32_t uplink);
[[nodiscard]] trip_key far_leaf_trip(std::uint32_t plane, std::uint32_t leaf, std::uint32_t out, std::uint32_t back);

// Uplinks of a plane that were probed, in order.
[[nodiscard]] std::vector<std::uint32_t> uplinks_of(const snapshot &at, std::uint32_t plane);
// Other leaves of the peers, in order.
[[nodiscard]] std::vector<std::uint32_t> far_leaves_of(const snapshot &at);
[[nodiscard]] const port_seen *port_of(const snapshot &at, std::uint32_t plane);

[[nodiscard]] tally small_on(const snapshot &at, const trip_key &way);
// Of the link to the own leaf, of what is behind that up to a spine, and behind that up to a leaf.
[[nodiscard]] condition host_link_of(const snapshot &at, std::uint32_t plane);
[[nodiscard]] condition spine_of(const snapshot &at, std::uint32_t plane, std::uint32_t uplink);
[[nodiscard]] condition far_leaf_of(const snapshot &at, std::uint32_t plane, std::uint32_t leaf, std::uint32_t uplink);
// Spines by which a leaf is reached as it should be.
[[nodiscard]] std::vector<std::uint32_t> good_uplinks(const snapshot &at, std::uint32_t plane, std::uint32_t leaf);

// Which way packets to a host, or from it, are lost, by echoes: all of them come back alike, so that what one plane
// loses more than the others is lost on the way out. `peer`: nowhere for all peers.
[[nodiscard]] direction direction_by_echoes(const snapshot &at, std::uint32_t plane, std::uint32_t peer, double loss);

// Packets of queue pairs toward the leaf were marked or trimmed while diagnose watched: losses may be full queues.
[[nodiscard]] bool is_congested(const snapshot &at, std::uint32_t leaf);

// "; of 5210 data packets sent there, 260 were lost", of the paths that match (nowhere: any); empty without traffic.
[[nodiscard]] std::string data_in_words(const snapshot &at, std::uint32_t plane, std::uint32_t uplink,
                                        std::uint32_t leaf);

// "plane 0", "leaf 1 of plane 0", "spine 1 of plane 0", "loses 5.1 % of packets", "is dead"
[[nodiscard]] std::string leaf_name(std::uint32_t leaf, std::uint32_t plane);
[[nodiscard]] std::string spine_name(std::uint32_t spine, std::uint32_t plane);
[[nodiscard]] std::string what_it_does(double loss);
// ", toward this host", ", away from this host", ", in both directions", or nothing.
[[nodiscard]] std::string in_words(direction way);

} // namespace mrc::ctl::diagnose
