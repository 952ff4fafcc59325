// SPDX-License-Identifier: Apache-2.0
// Rows of a table, given out and taken back in runs of any length. Neighbours that are free are one run again.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace mrc::service
{

class row_ranges
{
public:
    // Rows `first` to `end` - 1 are free.
    row_ranges(std::uint32_t first, std::uint32_t end)
    {
        if (first < end)
            free_.emplace(first, end - first);
    }

    // The first row of the lowest free run of so many, 1 at least; nullopt: there is none.
    [[nodiscard]] std::optional<std::uint32_t> take(std::uint32_t rows)
    {
        for (auto run = free_.begin(); run != free_.end(); ++run) {
            const auto [first, length] = *run;
            if (length < rows)
                continue;
            free_.erase(run);
            if (length > rows)
                free_.emplace(first + rows, length - rows);
            return first;
        }
        return std::nullopt;
    }

    // Rows that were taken.
    void give_back(std::uint32_t first, std::uint32_t rows)
    {
        auto run = free_.emplace(first, rows).first;
        if (const auto after = std::next(run); after != free_.end() && run->first + run->second == after->first) {
            run->second += after->second;
            free_.erase(after);
        }
        if (run == free_.begin())
            return;
        if (const auto before = std::prev(run); before->first + before->second == run->first) {
            before->second += run->second;
            free_.erase(run);
        }
    }

private:
    std::map<std::uint32_t, std::uint32_t> free_; // first row -> how many
};

} // namespace mrc::service
