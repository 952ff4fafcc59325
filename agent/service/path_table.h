// SPDX-License-Identifier: Apache-2.0
// Which rows of the `paths` map belong to which path group.
#pragma once

#include <compare>
#include <cstdint>
#include <expected>
#include <map>
#include <vector>

#include "service/fabric_rules.h"
#include "service/row_ranges.h"

namespace mrc::service
{

// Whose rows: of an EV profile's paths toward a leaf. Profile 0 is everybody's; its rows name the paths on which
// packets arrive, too.
struct group_key {
    std::uint32_t leaf = 0;
    std::uint64_t profile = 0;

    friend auto operator<=>(const group_key &, const group_key &) = default;
};

// Gives path groups their rows of the `paths` map, on first use. Row 0 stays free: it is the unknown path. What is
// released rests until recycle(): programs that run, and packets that wait to be sent, may still name such rows.
class path_table
{
public:
    enum class refusal : std::uint8_t { no_such_leaf, full };

    // The rules are borrowed; `capacity` counts row 0.
    path_table(const fabric_rules &fabric, std::uint32_t capacity)
        : fabric_{fabric}, capacity_{capacity}, free_{1, capacity}
    {
    }

    // Of so many rows on each plane, if the group has none yet.
    [[nodiscard]] std::expected<path_group_rows, refusal> group_of(group_key key, std::uint32_t uplinks);
    // Of a key that group_of() knows.
    void release(group_key key);
    [[nodiscard]] bool any_resting() const { return !resting_.empty(); }
    // Nobody names what has been released any more: other groups may have it.
    void recycle();

    [[nodiscard]] const std::map<group_key, path_group_rows> &groups() const { return groups_; }
    [[nodiscard]] std::uint32_t capacity() const { return capacity_; }

private:
    const fabric_rules &fabric_;
    std::uint32_t capacity_;
    row_ranges free_;
    std::map<group_key, path_group_rows> groups_;
    std::vector<path_group_rows> resting_;
};

} // namespace mrc::service
