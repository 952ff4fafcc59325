// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/traffic.h"

#include <gtest/gtest.h>

namespace mrc::perf
{
namespace
{

// `EVs 4 of 5` was said of four paths.
TEST(mrc_perf_traffic, a_path_in_any_state_is_one_and_in_use_unless_it_is_bad_or_denied)
{
    EXPECT_EQ((traffic{.paths_good = 1}).paths_in_use(), 1U);
    EXPECT_EQ((traffic{.paths_skip = 1}).paths_in_use(), 1U);
    EXPECT_EQ((traffic{.paths_kept = 1}).paths_in_use(), 1U);
    EXPECT_EQ((traffic{.paths_assumed_bad = 1}).paths_in_use(), 0U);
    EXPECT_EQ((traffic{.paths_denied = 1}).paths_in_use(), 0U);
    const traffic all{.paths_good = 1, .paths_skip = 2, .paths_kept = 4, .paths_assumed_bad = 8, .paths_denied = 16};
    EXPECT_EQ(all.paths(), 31U);
    EXPECT_EQ(all.paths_in_use(), 7U);
}

} // namespace
} // namespace mrc::perf
