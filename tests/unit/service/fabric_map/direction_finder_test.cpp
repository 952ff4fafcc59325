// SPDX-License-Identifier: Apache-2.0
#include "service/fabric_map/direction_finder.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace mrc::service
{
namespace
{

constexpr std::uint32_t suspect = 1;
constexpr std::uint32_t partner = 0;
const std::vector<std::uint32_t> faulty{suspect};

// Loses so much of each kind of loop, until the direction is known or so many were sent.
mrc_link_direction find(direction_finder &finder, double up, double down, double base, std::uint32_t seed = 1)
{
    std::mt19937 random{seed};
    for (int i = 0; i < 2000 && finder.direction_of(suspect) == MRC_DIRECTION_UNKNOWN; ++i) {
        finder.follow(faulty, partner);
        finder.take(0, std::bernoulli_distribution{up}(random));
        finder.take(1, std::bernoulli_distribution{down}(random));
        finder.take(2, std::bernoulli_distribution{base}(random));
    }
    return finder.direction_of(suspect);
}

TEST(direction_finder, tells_which_way_a_link_loses_ten_of_ten)
{
    for (std::uint32_t seed = 1; seed <= 10; ++seed)
        for (const double loss : {0.05, 0.3, 1.0}) {
            direction_finder up{2, 0};
            direction_finder down{2, 0};
            EXPECT_EQ(find(up, loss, 0, 0, seed), MRC_DIRECTION_UP) << loss;
            EXPECT_EQ(find(down, 0, loss, 0, seed), MRC_DIRECTION_DOWN) << loss;
        }
    direction_finder both{2, 0};
    EXPECT_EQ(find(both, 1, 1, 0), MRC_DIRECTION_BOTH);
}

TEST(direction_finder, goes_over_another_leaf_when_that_one_s_own_ways_are_no_good)
{
    direction_finder finder{3, 1};
    EXPECT_TRUE(finder.follow(faulty, partner));
    EXPECT_EQ(finder.now()->leaf, 2U);
    EXPECT_EQ(find(finder, 1, 1, 1), MRC_DIRECTION_UNKNOWN);
    direction_finder other{3, 1};
    other.follow(faulty, partner);
    for (int i = 0; i < 40; ++i)
        for (std::size_t loop = 0; loop < direction_finder::loops; ++loop)
            other.take(loop, true);
    EXPECT_TRUE(other.follow(faulty, partner));
    EXPECT_EQ(other.now()->leaf, 0U) << "not its own";
}

TEST(direction_finder, cannot_tell_without_another_leaf_or_a_good_spine)
{
    direction_finder one_leaf{1, 0};
    EXPECT_FALSE(one_leaf.follow(faulty, partner));
    EXPECT_FALSE(one_leaf.now());
    direction_finder one_spine{2, 0};
    EXPECT_FALSE(one_spine.follow(faulty, std::nullopt));
}

TEST(direction_finder, forgets_what_is_at_fault_no_longer_and_takes_one_spine_after_the_other)
{
    direction_finder finder{2, 0};
    EXPECT_EQ(find(finder, 1, 0, 0), MRC_DIRECTION_UP);
    const std::vector<std::uint32_t> both{suspect, 2};
    EXPECT_TRUE(finder.follow(both, partner));
    EXPECT_EQ(finder.now()->suspect, 2U);
    EXPECT_TRUE(finder.follow({}, partner));
    EXPECT_FALSE(finder.now());
    EXPECT_EQ(finder.direction_of(suspect), MRC_DIRECTION_UNKNOWN);
}

} // namespace
} // namespace mrc::service
