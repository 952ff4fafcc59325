// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/fabric_faults.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "tools/mrcctl/diagnose/evidence.h"

namespace mrc::ctl::diagnose
{

namespace
{

// Out by the spine in question and back by a good one, and the other way round.
direction direction_by_crossing(const snapshot &at, std::uint32_t plane, std::uint32_t leaf, std::uint32_t uplink)
{
    for (const std::uint32_t other : good_uplinks(at, plane, leaf)) {
        const tally good = small_on(at, far_leaf_trip(plane, leaf, other, other));
        const condition out = condition_behind(small_on(at, far_leaf_trip(plane, leaf, uplink, other)), good);
        const condition in = condition_behind(small_on(at, far_leaf_trip(plane, leaf, other, uplink)), good);
        if (out == condition::unknown || in == condition::unknown)
            continue;
        if (is_bad(out) && is_bad(in))
            return direction::both;
        if (is_bad(out) != is_bad(in))
            return is_bad(out) ? direction::out : direction::in;
    }
    return direction::unknown;
}

direction direction_by_any_leaf(const snapshot &at, std::uint32_t plane, std::uint32_t uplink)
{
    for (const std::uint32_t leaf : far_leaves_of(at))
        if (const direction way = direction_by_crossing(at, plane, leaf, uplink); way != direction::unknown)
            return way;
    return direction::unknown;
}

// Whether the spine is reached from a peer's leaf: the trip, and what it is compared with.
struct detour {
    tally way;
    tally without;
};
std::optional<detour> detour_to(const snapshot &at, std::uint32_t plane, std::uint32_t uplink)
{
    for (const auto &[key, result] : at.trips) {
        if (key.kind != trip_kind::detour || key.plane != plane || key.back != uplink ||
            spine_of(at, plane, key.out) != condition::clean)
            continue;
        trip_key echo = key;
        echo.kind = trip_kind::echo;
        echo.back = nowhere;
        const tally without = small_on(at, echo);
        if (condition_behind(result.small, without) != condition::unknown)
            return detour{.way = result.small, .without = without};
    }
    return std::nullopt;
}

diagnosis_finding host_link_fault(const snapshot &at, std::uint32_t plane)
{
    const tally trips = small_on(at, own_leaf_trip(plane));
    const port_seen *const port = port_of(at, plane);
    const std::string leaf = leaf_name(at.own_leaf, plane);
    diagnosis_finding found{.what = cause::host_link, .plane = plane, .leaf = at.own_leaf};
    found.device = port == nullptr ? "" : port->device;
    found.loss = loss_of(trips);
    found.way = direction_by_echoes(at, plane, nowhere, found.loss);
    found.sentence = fmt::format("the link between port {} of this host and {} {}{}", found.device, leaf,
                                 what_it_does(found.loss), in_words(found.way));
    found.evidence = fmt::format("{} that went to {} and straight back were lost{}", lost_in_words(trips), leaf,
                                 data_in_words(at, plane, nowhere, nowhere));
    found.advice = fmt::format("check the cable and both of its ends ('ethtool -S {}'). From this host a fault of the "
                               "whole leaf looks the same: 'mrcctl diagnose' on another host behind it tells",
                               found.device);
    return found;
}

diagnosis_finding spine_fault(const snapshot &at, std::uint32_t plane, std::uint32_t uplink)
{
    const tally trips = small_on(at, spine_trip(plane, uplink));
    diagnosis_finding found{.plane = plane, .leaf = at.own_leaf, .spine = uplink};
    found.loss = loss_behind(trips, small_on(at, own_leaf_trip(plane)));
    const std::string spine = spine_name(uplink, plane);
    const std::string link = fmt::format("the link between {} and {}", leaf_name(at.own_leaf, plane), spine);
    found.evidence = fmt::format("{} that turned back at the spine were lost, though the leaf answers{}",
                                 lost_in_words(trips), data_in_words(at, plane, uplink, nowhere));
    const auto around = detour_to(at, plane, uplink);
    if (!around) {
        found.what = cause::spine_or_link;
        found.way = direction_by_any_leaf(at, plane, uplink);
        found.sentence = fmt::format("{}, or {} itself, {}", link, spine, what_it_does(found.loss));
        found.advice = "'mrcctl diagnose' on a host behind another leaf tells: it names the spine, too, if that is it";
        return found;
    }
    const bool spine_is_bad = is_bad(condition_behind(around->way, around->without));
    found.what = spine_is_bad ? cause::spine : cause::leaf_spine_link;
    found.way = spine_is_bad ? direction::unknown : direction_by_any_leaf(at, plane, uplink);
    found.evidence += fmt::format("; by way of another spine and leaf, {} of {} packets got through it",
                                  around->way.back, around->way.sent);
    found.sentence = fmt::format("{} {}{}", spine_is_bad ? spine : link, what_it_does(found.loss), in_words(found.way));
    found.advice = spine_is_bad ? "look at the switch: power, its uSID routes, all of its links"
                                : "check the cable and both of its ends, at the switches";
    if (spine_is_bad)
        found.leaf = nowhere;
    return found;
}

findings spine_faults(const snapshot &at, std::uint32_t plane)
{
    findings found;
    const auto uplinks = uplinks_of(at, plane);
    const auto bad = [&](std::uint32_t uplink) { return is_bad(spine_of(at, plane, uplink)); };
    const bool all = uplinks.size() > 1 && std::ranges::all_of(uplinks, bad);
    if (!all) {
        for (const std::uint32_t uplink : uplinks)
            if (bad(uplink))
                found.push_back(spine_fault(at, plane, uplink));
        return found;
    }
    const tally trips = sum_of(at, trip_kind::spine, [&](const trip_key &key) { return key.plane == plane; });
    diagnosis_finding leaf{.what = cause::leaf, .plane = plane, .leaf = at.own_leaf};
    leaf.loss = loss_behind(trips, small_on(at, own_leaf_trip(plane)));
    leaf.sentence =
        fmt::format("{} answers, but what goes on from it to any of its {} spines {}", leaf_name(at.own_leaf, plane),
                    uplinks.size(), leaf.loss >= dead_loss ? "is lost" : "is lost in part");
    leaf.evidence = fmt::format("{} that turned back at the spines were lost", lost_in_words(trips));
    leaf.advice = "look at the leaf: its uplinks, its uSID routes";
    found.push_back(leaf);
    return found;
}

diagnosis_finding far_leaf_fault(const snapshot &at, std::uint32_t plane, std::uint32_t leaf,
                                 const std::vector<std::uint32_t> &uplinks)
{
    tally trips;
    tally shorter;
    for (const std::uint32_t uplink : uplinks) {
        trips += small_on(at, far_leaf_trip(plane, leaf, uplink, uplink));
        shorter += small_on(at, spine_trip(plane, uplink));
    }
    const bool sure = uplinks.size() > 1;
    diagnosis_finding found{.what = sure ? cause::leaf : cause::leaf_or_link, .plane = plane, .leaf = leaf};
    found.loss = loss_behind(trips, shorter);
    if (!sure)
        found.spine = uplinks.front();
    found.sentence = sure ? fmt::format("{} {}", leaf_name(leaf, plane), what_it_does(found.loss))
                          : fmt::format("{}, or its link to spine {}, {}", leaf_name(leaf, plane), uplinks.front(),
                                        what_it_does(found.loss));
    found.evidence =
        fmt::format("{} that turned back at the leaf were lost, by {} spine{} that answer{}{}", lost_in_words(trips),
                    uplinks.size(), sure ? "s" : "", sure ? "" : "s", data_in_words(at, plane, nowhere, leaf));
    found.advice = "look at the switch: power, its uplinks, its uSID routes";
    return found;
}

diagnosis_finding far_link_fault(const snapshot &at, std::uint32_t plane, std::uint32_t leaf, std::uint32_t uplink)
{
    const tally trips = small_on(at, far_leaf_trip(plane, leaf, uplink, uplink));
    diagnosis_finding found{.what = cause::leaf_spine_link, .plane = plane, .leaf = leaf, .spine = uplink};
    found.loss = loss_behind(trips, small_on(at, spine_trip(plane, uplink)));
    found.way = direction_by_crossing(at, plane, leaf, uplink);
    found.sentence = fmt::format("the link between {} and {} {}{}", spine_name(uplink, plane), leaf_name(leaf, plane),
                                 what_it_does(found.loss), in_words(found.way));
    found.evidence = fmt::format("{} that turned back at the leaf were lost, though the spine answers, and the leaf by "
                                 "other spines{}",
                                 lost_in_words(trips), data_in_words(at, plane, uplink, leaf));
    found.advice = "check the cable and both of its ends, at the switches";
    return found;
}

findings far_leaf_faults(const snapshot &at, std::uint32_t plane, std::uint32_t leaf)
{
    std::vector<std::uint32_t> reached;
    std::vector<std::uint32_t> bad;
    for (const std::uint32_t uplink : uplinks_of(at, plane)) {
        const condition state =
            is_bad(spine_of(at, plane, uplink)) ? condition::unknown : far_leaf_of(at, plane, leaf, uplink);
        if (state == condition::unknown)
            continue;
        reached.push_back(uplink);
        if (state == condition::dead || (state == condition::lossy && !is_congested(at, leaf)))
            bad.push_back(uplink);
    }
    findings found;
    if (!bad.empty() && bad.size() == reached.size())
        return {far_leaf_fault(at, plane, leaf, bad)};
    for (const std::uint32_t uplink : bad)
        found.push_back(far_link_fault(at, plane, leaf, uplink));
    return found;
}

} // namespace

bool has_round_trips(const snapshot &at)
{
    const auto sum = sum_of(at, trip_kind::own_leaf, [](const trip_key &) { return true; });
    const auto probes = sum_of(at, trip_kind::probe, [](const trip_key &) { return true; });
    return !at.direct && sum.sent > 0 && (sum.back > 0 || probes.back == 0);
}

findings losses_of_host(const snapshot &at)
{
    std::size_t ports = 0;
    std::size_t lossy = 0;
    for (const port_seen &port : at.ports) {
        if (!port.usable)
            continue;
        ++ports;
        lossy += host_link_of(at, port.plane) == condition::lossy ? 1 : 0;
    }
    if (ports < 2 || lossy < ports)
        return {};
    const tally trips = sum_of(at, trip_kind::own_leaf, [](const trip_key &) { return true; });
    diagnosis_finding found{.what = cause::host_losses, .loss = loss_of(trips)};
    found.sentence =
        fmt::format("all {} ports of this host lose packets, {:.1f} %: rather the host than so many cables", ports,
                    100 * found.loss);
    found.evidence = fmt::format("{} that turned back at the leaves were lost", lost_in_words(trips));
    found.advice = "look for what takes this host's CPUs ('top', 'mpstat -P ALL'), and for drops ('ethtool -S DEVICE')";
    return {found};
}

findings faults_of_plane(const snapshot &at, std::uint32_t plane)
{
    findings found;
    const condition link = host_link_of(at, plane);
    if (is_bad(link) && losses_of_host(at).empty())
        found.push_back(host_link_fault(at, plane));
    if (link == condition::dead)
        return found; // nothing behind it can be seen
    std::ranges::move(spine_faults(at, plane), std::back_inserter(found));
    for (const std::uint32_t leaf : far_leaves_of(at))
        std::ranges::move(far_leaf_faults(at, plane, leaf), std::back_inserter(found));
    return found;
}

} // namespace mrc::ctl::diagnose
