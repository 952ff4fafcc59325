// SPDX-License-Identifier: Apache-2.0
// Which rows of the `paths` map belong to which path group.
#pragma once

#include <compare>
#include <cstdint>
#include <expected>
#include <map>

#include "mrc/abi/maps.h"
#include "service/fabric_rules.h"

namespace mrc::service
{

// Whose rows: of an EV profile's paths toward a leaf. Profile 0 is everybody's; its rows name the paths on which
// packets arrive, too.
struct group_key {
    std::uint32_t leaf = 0;
    std::uint64_t profile = 0;

    friend auto operator<=>(const group_key &, const group_key &) = default;
};

// Gives path groups their rows of the `paths` map, on first use. Row 0 stays free: it is the unknown path.
class path_table
{
public:
    enum class refusal : std::uint8_t { no_such_leaf, full };

    // The rules are borrowed.
    explicit path_table(const fabric_rules &fabric, std::uint32_t capacity = MRC_MAX_PATHS)
        : fabric_{fabric}, capacity_{capacity}
    {
    }

    [[nodiscard]] std::expected<path_group_rows, refusal> group_of(group_key key);
    // The next group of as many rows may have them. Of a key that group_of() knows.
    void release(group_key key);
    [[nodiscard]] const std::map<group_key, path_group_rows> &groups() const { return groups_; }
    [[nodiscard]] std::uint32_t rows_used() const { return next_; } // from row 0 on, released ones too

private:
    const fabric_rules &fabric_;
    std::uint32_t capacity_;
    std::uint32_t next_ = 1;
    std::map<group_key, path_group_rows> groups_;
    std::multimap<std::uint32_t, std::uint32_t> released_; // rows in a row: the first
};

} // namespace mrc::service
