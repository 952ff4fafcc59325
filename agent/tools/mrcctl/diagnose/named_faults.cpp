// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/diagnose/named_faults.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "service/address.h"
#include "tools/mrcctl/diagnose/evidence.h"

namespace mrc::ctl::diagnose
{

namespace
{

std::optional<cause> cause_of(const mrc_fault_row &fault)
{
    switch (fault.blame) {
    case MRC_BLAME_HOST_LINK:
        return cause::peer_link;
    case MRC_BLAME_LEAF:
        return cause::leaf;
    case MRC_BLAME_LEAF_SPINE_LINK:
        return cause::leaf_spine_link;
    case MRC_BLAME_SPINE:
        return cause::spine;
    default: // what they cannot tell apart either
        return std::nullopt;
    }
}

std::string name_of_place(const diagnosis_finding &at)
{
    switch (at.what) {
    case cause::peer_link:
        return fmt::format("the link between {} and host {}", leaf_name(at.leaf, at.plane), at.subject);
    case cause::leaf_spine_link:
        return fmt::format("the link between {} and {}", leaf_name(at.leaf, at.plane), spine_name(at.spine, at.plane));
    case cause::spine:
        return spine_name(at.spine, at.plane);
    default:
        return leaf_name(at.leaf, at.plane);
    }
}

diagnosis_finding finding_of(const mrc_fault_row &fault, cause what)
{
    diagnosis_finding found{.what = what, .plane = fault.plane, .leaf = fault.leaf, .spine = fault.uplink};
    if (what == cause::peer_link)
        found.subject = service::to_text(fault.host);
    const double lost = fault.loops == 0 ? 0 : static_cast<double>(fault.lost) / fault.loops;
    found.loss = fault.state == MRC_LINK_DEAD ? 1 : lost;
    found.sentence = fmt::format("{} {}", name_of_place(found), what_it_does(found.loss));
    found.evidence = fmt::format("loops of {} host{} show it, and for {} others the same is good", fault.hosts,
                                 fault.hosts == 1 ? "" : "s", fault.witnesses);
    found.advice = "'mrcctl fabric map' says since when the hosts of the fabric name it; check the cable or the switch";
    return found;
}

// The same, or what cannot be told from it here.
bool is_about(const diagnosis_finding &found, const diagnosis_finding &named, std::uint32_t own_leaf)
{
    if (found.plane != named.plane)
        return false;
    if (named.what == cause::leaf && found.what == cause::host_link)
        return named.leaf == own_leaf;
    if (found.what == cause::spine_or_link)
        return found.spine == named.spine;
    return found.what == named.what && (found.leaf == named.leaf || named.leaf == nowhere) &&
           (found.spine == named.spine || named.spine == nowhere) && found.subject == named.subject;
}

bool is_known_host(const snapshot &at, const std::string &address)
{
    return std::ranges::find(at.peers, address, &peer_seen::address) != at.peers.end();
}

} // namespace

findings with_named_faults(findings found, const snapshot &at)
{
    for (const mrc_fault_row &fault : at.faults) {
        const auto what = cause_of(fault);
        if (!what || fault.state < MRC_LINK_LOSSY)
            continue;
        diagnosis_finding named = finding_of(fault, *what);
        if (*what == cause::peer_link && !is_known_host(at, named.subject))
            continue;
        const auto same =
            std::ranges::find_if(found, [&](const auto &each) { return is_about(each, named, at.own_leaf); });
        if (same == found.end()) {
            found.push_back(std::move(named));
        } else if (same->what != named.what) {
            named.way = same->way;
            named.evidence = same->evidence + "; " + named.evidence;
            *same = std::move(named);
        }
    }
    return found;
}

} // namespace mrc::ctl::diagnose
