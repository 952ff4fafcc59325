// SPDX-License-Identifier: Apache-2.0
#include "kernel/cpu_list.h"

#include <gtest/gtest.h>

namespace mrc::kernel
{
namespace
{

TEST(cpu_list, is_read_in_any_order_and_written_as_the_kernel_does)
{
    EXPECT_EQ(parse_cpu_list("8,0-3,2"), (cpu_list{0, 1, 2, 3, 8}));
    EXPECT_EQ(parse_cpu_list(""), cpu_list{});
    EXPECT_EQ(cpu_list_text({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
    EXPECT_EQ(cpu_list_text({}), "");
    EXPECT_EQ(parse_cpu_list("1023"), cpu_list{1023});
}

TEST(cpu_list, what_is_no_list_is_refused)
{
    for (const char *text :
         {"a", "1-", "-1", "3-1", "1,", ",1", "1 2", "1-2-3", "0x1", "1024", "0-1024", "99999999999"})
        EXPECT_EQ(parse_cpu_list(text), std::nullopt) << text;
}

TEST(cpu_list, has_common_ones_and_a_rest)
{
    EXPECT_EQ(common_cpus({0, 1, 2, 5}, {1, 5, 6}), (cpu_list{1, 5}));
    EXPECT_EQ(cpus_without({0, 1, 2, 5}, {1, 5, 6}), (cpu_list{0, 2}));
}

} // namespace
} // namespace mrc::kernel
