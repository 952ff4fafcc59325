// SPDX-License-Identifier: Apache-2.0
#include "service/path_table.h"

namespace mrc::service
{

std::expected<path_group_rows, path_table::refusal> path_table::group_of(group_key key, std::uint32_t uplinks)
{
    if (const auto known = groups_.find(key); known != groups_.end())
        return known->second;
    if (key.leaf >= fabric_.leaves())
        return std::unexpected{refusal::no_such_leaf};
    path_group_rows group{.leaf = key.leaf, .base = 0, .planes = fabric_.planes(), .uplinks = uplinks};
    const auto base = free_.take(group.rows());
    if (!base)
        return std::unexpected{refusal::full};
    group.base = *base;
    groups_.emplace(key, group);
    return group;
}

void path_table::release(group_key key)
{
    const auto known = groups_.find(key);
    resting_.push_back(known->second);
    groups_.erase(known);
}

void path_table::recycle()
{
    for (const path_group_rows &rows : resting_)
        free_.give_back(rows.base, rows.rows());
    resting_.clear();
}

} // namespace mrc::service
