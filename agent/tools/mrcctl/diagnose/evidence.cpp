// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/evidence.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tools/mrcctl/diagnose/loss_direction.h"

namespace mrc::ctl::diagnose
{

namespace
{

constexpr std::uint64_t least_echoes = 50;
constexpr double least_echo_share = 0.05; // of acknowledgements

bool gets_through(const snapshot &at, const trip_key &echo)
{
    const trip_key spine = spine_trip(echo.plane, echo.out);
    return !is_bad(condition_behind(on(at, spine).small, on(at, own_leaf_trip(echo.plane)).small));
}

} // namespace

trip_result on(const snapshot &at, const trip_key &way)
{
    const auto found = at.trips.find(way);
    return found == at.trips.end() ? trip_result{} : found->second;
}

trip_key own_leaf_trip(std::uint32_t plane)
{
    return {.kind = trip_kind::own_leaf, .plane = plane};
}

trip_key spine_trip(std::uint32_t plane, std::uint32_t uplink)
{
    return {.kind = trip_kind::spine, .plane = plane, .out = uplink};
}

trip_key far_leaf_trip(std::uint32_t plane, std::uint32_t leaf, std::uint32_t out, std::uint32_t back)
{
    return {.kind = trip_kind::far_leaf, .plane = plane, .leaf = leaf, .out = out, .back = back};
}

std::vector<std::uint32_t> uplinks_of(const snapshot &at, std::uint32_t plane)
{
    std::vector<std::uint32_t> uplinks;
    for (const auto &[key, result] : at.trips)
        if (key.kind == trip_kind::spine && key.plane == plane)
            uplinks.push_back(key.out);
    return uplinks;
}

std::vector<std::uint32_t> far_leaves_of(const snapshot &at)
{
    std::set<std::uint32_t> leaves;
    for (const peer_seen &peer : at.peers)
        if (peer.leaf != at.own_leaf)
            leaves.insert(peer.leaf);
    return {leaves.begin(), leaves.end()};
}

const port_seen *port_of(const snapshot &at, std::uint32_t plane)
{
    const auto found = std::ranges::find(at.ports, plane, &port_seen::plane);
    return found == at.ports.end() ? nullptr : &*found;
}

tally small_on(const snapshot &at, const trip_key &way)
{
    return on(at, way).small;
}

condition host_link_of(const snapshot &at, std::uint32_t plane)
{
    return condition_of(small_on(at, own_leaf_trip(plane)));
}

condition spine_of(const snapshot &at, std::uint32_t plane, std::uint32_t uplink)
{
    return condition_behind(small_on(at, spine_trip(plane, uplink)), small_on(at, own_leaf_trip(plane)));
}

condition far_leaf_of(const snapshot &at, std::uint32_t plane, std::uint32_t leaf, std::uint32_t uplink)
{
    return condition_behind(small_on(at, far_leaf_trip(plane, leaf, uplink, uplink)),
                            small_on(at, spine_trip(plane, uplink)));
}

// Spines by which a leaf is reached as it should be.
std::vector<std::uint32_t> good_uplinks(const snapshot &at, std::uint32_t plane, std::uint32_t leaf)
{
    std::vector<std::uint32_t> good;
    for (const std::uint32_t uplink : uplinks_of(at, plane))
        if (spine_of(at, plane, uplink) == condition::clean && far_leaf_of(at, plane, leaf, uplink) == condition::clean)
            good.push_back(uplink);
    return good;
}

direction direction_by_echoes(const snapshot &at, std::uint32_t plane, std::uint32_t peer, double loss)
{
    const auto on_plane = [&](const trip_key &key) {
        return key.plane == plane && (peer == nowhere || key.peer == peer) && gets_through(at, key);
    };
    const auto on_others = [&](const trip_key &key) {
        return key.plane != plane && (peer == nowhere || key.peer == peer) && gets_through(at, key) &&
               !is_bad(condition_of(on(at, own_leaf_trip(key.plane)).small));
    };
    const tally here = sum_of(at, trip_kind::echo, on_plane);
    const tally elsewhere = sum_of(at, trip_kind::echo, on_others);
    const condition out = elsewhere.sent == 0 ? condition::unknown : condition_behind(here, elsewhere);
    if (out == condition::clean || out == condition::lossy)
        return direction_of_loss(here, elsewhere, loss);
    // Nothing gets out; whether anything would come in is seen by what others send.
    const port_seen *const port = port_of(at, plane);
    const std::uint32_t own = on(at, own_leaf_trip(plane)).small.back;
    const bool is_host_link = peer == nowhere;
    return out == condition::dead && is_host_link && port != nullptr && port->rx_packets > own ? direction::out
                                                                                               : direction::unknown;
}

bool is_congested(const snapshot &at, std::uint32_t leaf)
{
    std::uint64_t acks = 0;
    std::uint64_t echoes = 0;
    for (const path_seen &path : at.paths)
        if (path.leaf == leaf) {
            acks += path.acks;
            echoes += path.echoes;
        }
    return echoes >= least_echoes && static_cast<double>(echoes) >= least_echo_share * static_cast<double>(acks);
}

std::string data_in_words(const snapshot &at, std::uint32_t plane, std::uint32_t uplink, std::uint32_t leaf)
{
    std::uint64_t sent = 0;
    std::uint64_t lost = 0;
    for (const path_seen &path : at.paths)
        if (path.plane == plane && (uplink == nowhere || path.uplink == uplink) &&
            (leaf == nowhere || path.leaf == leaf)) {
            sent += path.tx_packets;
            lost += path.losses;
        }
    return lost == 0 ? std::string{}
                     : fmt::format("; of {} packets that mrcd sent there meanwhile, {} were found lost", sent, lost);
}

std::string leaf_name(std::uint32_t leaf, std::uint32_t plane)
{
    return leaf == nowhere ? fmt::format("the leaf on plane {}", plane)
                           : fmt::format("leaf {} of plane {}", leaf, plane);
}

std::string spine_name(std::uint32_t spine, std::uint32_t plane)
{
    return fmt::format("spine {} of plane {}", spine, plane);
}

std::string what_it_does(double loss)
{
    return loss >= dead_loss ? std::string{"is dead"} : fmt::format("loses {:.1f} % of packets", 100 * loss);
}

std::string in_words(direction way)
{
    switch (way) {
    case direction::out:
        return ", away from this host";
    case direction::in:
        return ", toward this host";
    case direction::both:
        return ", in both directions";
    case direction::unknown:
        break;
    }
    return {};
}

} // namespace mrc::ctl::diagnose
