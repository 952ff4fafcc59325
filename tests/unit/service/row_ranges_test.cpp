// SPDX-License-Identifier: Apache-2.0
#include "service/row_ranges.h"

#include <vector>

#include <gtest/gtest.h>

#include "protocol/random_source.h"

namespace mrc::service
{
namespace
{

TEST(row_ranges, are_given_out_from_the_lowest_on)
{
    row_ranges rows{1, 11};
    EXPECT_EQ(rows.take(4), 1u);
    EXPECT_EQ(rows.take(6), 5u);
    EXPECT_FALSE(rows.take(1));
    rows.give_back(1, 4);
    EXPECT_FALSE(rows.take(5));
    EXPECT_EQ(rows.take(3), 1u);
    EXPECT_EQ(rows.take(1), 4u);
}

TEST(row_ranges, of_which_there_are_none)
{
    row_ranges rows{1, 1};
    EXPECT_FALSE(rows.take(1));
}

TEST(row_ranges, neighbours_grow_together_in_any_order)
{
    for (const std::vector<std::uint32_t> &order : {std::vector<std::uint32_t>{0, 1, 2}, {0, 2, 1}, {2, 1, 0}}) {
        row_ranges rows{0, 30};
        for (unsigned i = 0; i < 3; ++i)
            ASSERT_EQ(rows.take(10), i * 10);
        for (const std::uint32_t run : order)
            rows.give_back(run * 10, 10);
        EXPECT_EQ(rows.take(30), 0u);
    }
}

// Nothing is given out twice or lost, whatever the order.
TEST(row_ranges, are_as_many_as_before)
{
    constexpr std::uint32_t all = 500;
    protocol::random_source random{7};
    row_ranges rows{0, all};
    std::vector<bool> taken(all);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> runs;
    for (unsigned step = 0; step < 20000; ++step) {
        const std::uint32_t wanted = 1 + random.below(40);
        if (const auto first = random.below(2) == 0 ? rows.take(wanted) : std::nullopt) {
            for (std::uint32_t row = *first; row < *first + wanted; ++row) {
                ASSERT_FALSE(taken[row]);
                taken[row] = true;
            }
            runs.emplace_back(*first, wanted);
        } else if (!runs.empty()) {
            std::swap(runs[random.below(static_cast<std::uint32_t>(runs.size()))], runs.back());
            for (std::uint32_t row = 0; row < runs.back().second; ++row)
                taken[runs.back().first + row] = false;
            rows.give_back(runs.back().first, runs.back().second);
            runs.pop_back();
        }
    }
    for (const auto &[first, length] : runs)
        rows.give_back(first, length);
    EXPECT_EQ(rows.take(all), 0u);
}

} // namespace
} // namespace mrc::service
