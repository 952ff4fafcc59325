// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/fault_merge.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace mrc::service
{

namespace
{

void add(std::uint32_t &to, std::uint32_t more)
{
    to = more > UINT32_MAX - to ? UINT32_MAX : to + more;
}

// Those that know it agree, or each is half of it.
mrc_link_direction both_of(mrc_link_direction one, mrc_link_direction other)
{
    if (one == MRC_DIRECTION_UNKNOWN || one == other)
        return other;
    return other == MRC_DIRECTION_UNKNOWN ? one : MRC_DIRECTION_BOTH;
}

struct accusation {
    host_place host;
    const reported_fault *fault = nullptr;
};
using accusations = std::vector<accusation>;

fabric_fault fault_of(const fault_place &place, const accusations &by, std::uint32_t witnesses)
{
    fabric_fault all{.place = place, .witnesses = witnesses};
    std::set<host_place> hosts;
    for (const auto &[host, fault] : by) {
        all.extra_rtt_ns = hosts.empty() ? fault->extra_rtt_ns : std::min(all.extra_rtt_ns, fault->extra_rtt_ns);
        hosts.insert(host);
        all.state = std::max(all.state, fault->state);
        all.direction = both_of(all.direction, fault->direction);
        add(all.loops, fault->loops);
        add(all.lost, fault->lost);
    }
    all.hosts = static_cast<std::uint32_t>(hosts.size());
    return all;
}

class plane_merge
{
public:
    plane_merge(protocol::plane_index plane, std::span<const host_report> reports) : plane_{plane}
    {
        for (const auto &[host, report, heard] : reports)
            if (const auto &seen = report->planes[plane.value])
                take_faults(host, *report, *seen);
        for (const auto &[host, report, heard] : reports)
            if (const auto &seen = report->planes[plane.value])
                take_witness(host, *seen, heard);
    }

    void merge(std::vector<fabric_fault> &to)
    {
        for (auto &[leaf, seen] : leaves_)
            merge_leaf(leaf, seen, to);
        for (const auto &[spine, leaves] : spines_)
            merge_spine(spine, leaves, to);
    }

private:
    struct leaf_seen {
        accusations way;             // to the leaf
        accusations behind;          // each of all spines
        std::uint32_t witnesses = 0; // that the way to the leaf is good
    };
    // Of one spine, by the hosts behind a leaf.
    struct spine_seen {
        accusations by;
        std::uint32_t witnesses = 0;
    };

    void take_faults(host_place host, const link_report &report, const reported_plane &seen)
    {
        accusations spines;
        for (const reported_fault &fault : report.faults)
            if (fault.plane == plane_)
                (fault.spine ? spines : leaves_[host.leaf].way).push_back({.host = host, .fault = &fault});
        if (seen.spines > 1 && spines.size() >= seen.spines) {
            std::ranges::copy(spines, std::back_inserter(leaves_[host.leaf].behind));
            return;
        }
        for (const accusation &each : spines)
            spines_[each.fault->spine.value_or(0)][host.leaf].by.push_back(each);
    }

    // What was said before the fault began says nothing of it.
    void take_witness(host_place host, const reported_plane &seen, protocol::instant heard)
    {
        if (const auto leaf = leaves_.find(host.leaf);
            leaf != leaves_.end() && seen.leaf == MRC_LINK_GOOD && heard >= since(leaf->second.way))
            ++leaf->second.witnesses;
        for (auto &[spine, leaves] : spines_) {
            protocol::instant first = protocol::never;
            for (const auto &[leaf, accusing] : leaves)
                first = std::min(first, since(accusing.by));
            if (seen.good[spine] && heard >= first)
                ++leaves[host.leaf].witnesses;
        }
    }

    static protocol::instant since(const accusations &all)
    {
        protocol::instant first = protocol::never;
        for (const accusation &each : all)
            first = std::min(first, each.fault->since);
        return first;
    }

    // What hosts behind a leaf that is at fault find of spines is the leaf's.
    void merge_leaf(std::uint32_t leaf, const leaf_seen &seen, std::vector<fabric_fault> &to)
    {
        if (!seen.behind.empty() || (seen.way.size() > 1 && seen.witnesses == 0)) {
            accusations by = seen.way;
            std::ranges::copy(seen.behind, std::back_inserter(by));
            to.push_back(fault_of({.blame = MRC_BLAME_LEAF, .plane = plane_, .leaf = leaf}, by, 0));
            for (auto &[spine, leaves] : spines_)
                leaves.erase(leaf);
            return;
        }
        for (const accusation &each : seen.way)
            to.push_back(fault_of({.blame = seen.witnesses == 0 ? MRC_BLAME_HOST_LINK_OR_LEAF : MRC_BLAME_HOST_LINK,
                                   .plane = plane_,
                                   .leaf = leaf,
                                   .downlink = each.host.downlink},
                                  {each}, seen.witnesses));
    }

    void merge_spine(std::uint32_t spine, const std::map<std::uint32_t, spine_seen> &leaves,
                     std::vector<fabric_fault> &to) const
    {
        accusations all;
        std::size_t accusing = 0;
        std::uint32_t witnesses = 0; // of leaves that do not accuse it
        for (const auto &[leaf, seen] : leaves) {
            std::ranges::copy(seen.by, std::back_inserter(all));
            accusing += seen.by.empty() ? 0 : 1;
            witnesses += seen.by.empty() ? seen.witnesses : 0;
        }
        if (accusing > 1 && witnesses == 0) {
            to.push_back(fault_of({.blame = MRC_BLAME_SPINE, .plane = plane_, .spine = spine}, all, 0));
            return;
        }
        for (const auto &[leaf, seen] : leaves)
            if (!seen.by.empty())
                to.push_back(
                    fault_of({.blame = witnesses == 0 ? MRC_BLAME_SPINE_LINK_OR_SPINE : MRC_BLAME_LEAF_SPINE_LINK,
                              .plane = plane_,
                              .leaf = leaf,
                              .spine = spine},
                             seen.by, witnesses));
    }

    protocol::plane_index plane_;
    std::map<std::uint32_t, leaf_seen> leaves_;
    std::map<std::uint32_t, std::map<std::uint32_t, spine_seen>> spines_; // by spine, then by leaf
};

} // namespace

std::vector<fabric_fault> merge_reports(std::span<const host_report> reports)
{
    std::vector<fabric_fault> faults;
    for (std::uint8_t plane = 0; plane < MRC_MAX_PORTS; ++plane)
        plane_merge{protocol::plane_index{plane}, reports}.merge(faults);
    std::ranges::sort(faults, {}, &fabric_fault::place);
    return faults;
}

bool is_beside(const fault_place &one, const fault_place &other)
{
    constexpr std::uint32_t nowhere = MRC_FAULT_NOWHERE;
    const auto meets = [](std::uint32_t a, std::uint32_t b) { return a == nowhere || b == nowhere || a == b; };
    return one.plane == other.plane && meets(one.leaf, other.leaf) && meets(one.spine, other.spine);
}

bool is_part_of(const fault_place &link, const fault_place &whole)
{
    if (link.plane != whole.plane)
        return false;
    const bool is_uplink = link.blame == MRC_BLAME_LEAF_SPINE_LINK;
    if (whole.blame == MRC_BLAME_SPINE)
        return is_uplink && link.spine == whole.spine;
    return whole.blame == MRC_BLAME_LEAF && link.leaf == whole.leaf && (is_uplink || link.blame == MRC_BLAME_HOST_LINK);
}

} // namespace mrc::service
