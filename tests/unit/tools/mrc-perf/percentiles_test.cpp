// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-perf/percentiles.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "tools/mrc-perf/error.h"

namespace mrc::perf
{
namespace
{

// 1 us to this many.
std::vector<std::uint32_t> up_to(std::size_t count)
{
    std::vector<std::uint32_t> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<std::uint32_t>(1000 * (i + 1));
    return values;
}

TEST(mrc_perf_percentiles, are_samples_of_the_nearest_rank_in_microseconds)
{
    const auto sorted = up_to(101);
    EXPECT_EQ(percentile_us(sorted, 0), 1);
    EXPECT_EQ(percentile_us(sorted, 0.5), 51);
    EXPECT_EQ(percentile_us(sorted, 0.99), 100);
    EXPECT_EQ(percentile_us(sorted, 1), 101);
    EXPECT_EQ(percentile_us({}, 0.5), 0);
}

TEST(mrc_perf_percentiles, a_file_is_as_fine_as_its_samples_can_tell)
{
    const std::string few = percentile_table(up_to(101));
    EXPECT_TRUE(few.starts_with("percentile,us\n0,1.000\n1,2.000\n"));
    EXPECT_TRUE(few.ends_with("\n98,99.000\n99,100.000\n100,101.000\n"));
    const std::string more = percentile_table(up_to(10001));
    EXPECT_TRUE(more.contains("\n99.9,9991.000\n99.91,"));
    EXPECT_TRUE(more.ends_with("\n99.99,10000.000\n100,10001.000\n"));
}

TEST(mrc_perf_percentiles, a_file_that_cannot_be_written_is_named_before_the_run)
{
    try {
        const percentile_file file{"/nonexistent/percentiles.csv"};
        FAIL() << "it was opened";
    } catch (const perf_error &error) {
        EXPECT_STREQ(error.what(),
                     "--percentiles: cannot write '/nonexistent/percentiles.csv': No such file or directory");
    }
}

} // namespace
} // namespace mrc::perf
