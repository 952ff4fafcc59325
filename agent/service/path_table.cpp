// SPDX-License-Identifier: Apache-2.0
#include "service/path_table.h"

namespace mrc::service
{

std::expected<path_group_rows, path_table::refusal> path_table::group_of(group_key key)
{
    if (const auto known = groups_.find(key); known != groups_.end())
        return known->second;
    if (key.leaf >= fabric_.leaves())
        return std::unexpected{refusal::no_such_leaf};
    path_group_rows group{
        .leaf = key.leaf, .base = next_, .planes = fabric_.planes(), .uplinks = fabric_.uplinks_to(key.leaf)};
    if (const auto used_before = released_.find(group.rows()); used_before != released_.end()) {
        group.base = used_before->second;
        released_.erase(used_before);
    } else if (group.rows() > capacity_ - next_) {
        return std::unexpected{refusal::full};
    } else {
        next_ += group.rows();
    }
    groups_.emplace(key, group);
    return group;
}

void path_table::release(group_key key)
{
    const auto known = groups_.find(key);
    released_.emplace(known->second.rows(), known->second.base);
    groups_.erase(known);
}

} // namespace mrc::service
