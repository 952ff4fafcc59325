// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/fault_board.h"

#include <algorithm>

namespace mrc::service
{

namespace
{

bool is_among(std::span<const fabric_fault> found, const fault_place &place)
{
    return std::ranges::binary_search(found, place, {}, &fabric_fault::place);
}

bool may_be_two(mrc_link_blame blame)
{
    return blame == MRC_BLAME_HOST_LINK_OR_LEAF || blame == MRC_BLAME_SPINE_LINK_OR_SPINE;
}

} // namespace

bool fault_board::may_be_named(const fabric_fault &fault, bool alone, protocol::instant now) const
{
    if (alone)
        return true;
    const bool is_beside_another = std::ranges::any_of(named_, [&](const auto &other) {
        return !may_be_two(other.first.blame) && !is_part_of(other.first, fault.place) &&
               is_beside(other.first, fault.place);
    });
    const protocol::duration wait = is_beside_another               ? doubt
                                    : may_be_two(fault.place.blame) ? unsure_patience
                                                                    : patience;
    return now - waiting_.at(fault.place) >= wait;
}

void fault_board::name(const fabric_fault &fault, protocol::instant now, std::vector<fault_change> &changes)
{
    const auto [at, is_new] = named_.try_emplace(fault.place, named_fault{.fault = fault, .since = now});
    if (is_new || at->second.fault.state != fault.state)
        changes.push_back({.fault = fault, .at = now});
    at->second.fault = fault;
}

void fault_board::take_back(std::span<const fabric_fault> found, protocol::instant now,
                            std::vector<fault_change> &changes)
{
    std::erase_if(named_, [&](const auto &each) {
        if (is_among(found, each.first) ||
            std::ranges::any_of(waiting_, [&](const auto &other) { return is_beside(other.first, each.first); }))
            return false;
        const bool is_renamed = std::ranges::any_of(found, [&](const fabric_fault &other) {
            return named_.contains(other.place) && is_beside(other.place, each.first);
        });
        changes.push_back({.fault = each.second.fault, .at = now, .is_renamed = is_renamed});
        changes.back().fault.state = MRC_LINK_GOOD;
        return true;
    });
}

std::vector<fault_change> fault_board::take(std::span<const fabric_fault> found, bool alone, protocol::instant now)
{
    std::vector<fault_change> changes;
    std::erase_if(waiting_, [&](const auto &each) { return !is_among(found, each.first); });
    for (const fabric_fault &fault : found) {
        if (named_.contains(fault.place)) {
            name(fault, now, changes);
            continue;
        }
        waiting_.try_emplace(fault.place, now);
        if (!may_be_named(fault, alone, now))
            continue;
        waiting_.erase(fault.place);
        name(fault, now, changes);
    }
    take_back(found, now, changes);
    if (!changes.empty())
        calm_from_ = now + alert;
    return changes;
}

} // namespace mrc::service
