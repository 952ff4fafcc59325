// SPDX-License-Identifier: Apache-2.0
#include "options/nearest_spelling.h"

#include <gtest/gtest.h>

namespace mrc::options
{
namespace
{

TEST(nearest_spelling, counts_insertions_deletions_and_replacements)
{
    EXPECT_EQ(edit_distance("burst", "burst"), 0U);
    EXPECT_EQ(edit_distance("", "burst"), 5U);
    EXPECT_EQ(edit_distance("brst", "burst"), 1U);
    EXPECT_EQ(edit_distance("brust", "burst"), 2U);
}

TEST(nearest_spelling, suggests_only_what_is_near)
{
    constexpr std::string_view known[] = {"engine", "payload", "burst"};
    EXPECT_EQ(nearest_spelling("engin", known), "engine");
    EXPECT_EQ(nearest_spelling("paylaod", known), "payload");
    EXPECT_EQ(nearest_spelling("brust", known), "burst");
    EXPECT_EQ(nearest_spelling("x", known), std::nullopt);
    EXPECT_EQ(nearest_spelling("", known), std::nullopt);
}

} // namespace
} // namespace mrc::options
