// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/peer_faults.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "tools/mrcctl/diagnose/evidence.h"

namespace mrc::ctl::diagnose
{

namespace
{

struct peer_way {
    condition state = condition::unknown;
    tally trips;
    tally shorter;
};

// Of the last link to a peer, by those ways that are good up to its leaf.
peer_way way_to(const snapshot &at, std::uint32_t plane, std::uint32_t peer)
{
    const std::uint32_t leaf = at.peers[peer].leaf;
    peer_way way;
    if (host_link_of(at, plane) == condition::dead || small_on(at, own_leaf_trip(plane)).sent == 0)
        return way;
    const auto probe_by = [&](std::uint32_t uplink) {
        return small_on(at, {.kind = trip_kind::probe, .plane = plane, .peer = peer, .out = uplink});
    };
    if (leaf == at.own_leaf) {
        way.trips = probe_by(0);
        way.shorter = small_on(at, own_leaf_trip(plane));
    } else {
        for (const std::uint32_t uplink : good_uplinks(at, plane, leaf)) {
            way.trips += probe_by(uplink);
            way.shorter += small_on(at, far_leaf_trip(plane, leaf, uplink, uplink));
        }
    }
    way.state = way.shorter.sent == 0 ? condition::unknown : condition_behind(way.trips, way.shorter);
    return way;
}

// What a peer loses on its best plane is no link's fault: whoever sends probes or answers them is busy.
void take_off(double loss, peer_way &way)
{
    way.shorter.back = static_cast<std::uint32_t>(way.shorter.back * (1 - loss));
    if (way.state == condition::lossy)
        way.state = condition_behind(way.trips, way.shorter);
}

diagnosis_finding peer_down(const snapshot &at, std::uint32_t peer, const tally &trips)
{
    const peer_seen &who = at.peers[peer];
    diagnosis_finding found{.what = cause::peer_down, .leaf = who.leaf, .subject = who.address, .loss = 1};
    found.sentence =
        fmt::format("host {} does not answer on any plane: it is down, or mrcd does not run there", who.address);
    found.evidence = fmt::format("{} sent there were lost, though leaf {} answers", lost_in_words(trips), who.leaf);
    found.advice = "on that host: 'mrcctl status', 'systemctl status mrcd'";
    return found;
}

diagnosis_finding peer_link_fault(const snapshot &at, std::uint32_t plane, std::uint32_t peer, const peer_way &way)
{
    const peer_seen &who = at.peers[peer];
    diagnosis_finding found{.what = cause::peer_link, .plane = plane, .leaf = who.leaf, .subject = who.address};
    found.loss = loss_behind(way.trips, way.shorter);
    found.way = direction_by_echoes(at, plane, peer, found.loss);
    found.sentence = fmt::format("the link between {} and host {} {}{}", leaf_name(who.leaf, plane), who.address,
                                 what_it_does(found.loss), in_words(found.way));
    found.evidence =
        fmt::format("{} to the host were not answered; of {} to its leaf, {} were lost{}", lost_in_words(way.trips),
                    way.shorter.sent, way.shorter.lost(), data_in_words(at, plane, nowhere, who.leaf));
    found.advice =
        fmt::format("check that host's cable on plane {}, both of its ends, and its port: 'mrcctl port list' "
                    "there",
                    plane);
    return found;
}

std::map<std::uint32_t, peer_way> ways_to(const snapshot &at, std::uint32_t peer)
{
    std::map<std::uint32_t, peer_way> ways; // by plane
    double least = 1;
    for (const port_seen &port : at.ports) {
        const bool says_no = (at.peers[peer].says_planes >> port.plane & 1) == 0;
        const peer_way way = port.usable && !says_no ? way_to(at, port.plane, peer) : peer_way{};
        if (way.state == condition::unknown)
            continue;
        ways[port.plane] = way;
        least = std::min(least, loss_behind(way.trips, way.shorter));
    }
    if (ways.size() > 1)
        for (auto &[plane, way] : ways)
            take_off(least, way);
    return ways;
}

findings faults_of_peer(const snapshot &at, std::uint32_t peer)
{
    const auto ways = ways_to(at, peer);
    const auto is_dead = [](const auto &one) { return one.second.state == condition::dead; };
    findings found;
    if (!ways.empty() && std::ranges::all_of(ways, is_dead)) {
        tally all;
        for (const auto &[plane, way] : ways)
            all += way.trips;
        return {peer_down(at, peer, all)};
    }
    for (const auto &[plane, way] : ways)
        if (way.state == condition::dead || (way.state == condition::lossy && !is_congested(at, at.peers[peer].leaf)))
            found.push_back(peer_link_fault(at, plane, peer, way));
    return found;
}

} // namespace

findings faults_of_peers(const snapshot &at)
{
    findings found;
    for (std::uint32_t peer = 0; peer < at.peers.size(); ++peer)
        std::ranges::move(faults_of_peer(at, peer), std::back_inserter(found));
    return found;
}

} // namespace mrc::ctl::diagnose
