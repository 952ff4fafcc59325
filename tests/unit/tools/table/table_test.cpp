// SPDX-License-Identifier: Apache-2.0
#include "tools/table/table.h"

#include <boost/json/object.hpp>
#include <gtest/gtest.h>

namespace mrc::ctl
{
namespace
{

namespace json = boost::json;

TEST(mrcctl_table, numbers_have_the_unit_that_keeps_them_short)
{
    EXPECT_EQ(to_text(0, column_unit::bytes), "0 B");
    EXPECT_EQ(to_text(1023, column_unit::bytes), "1023 B");
    EXPECT_EQ(to_text(1024, column_unit::bytes), "1.00 KiB");
    EXPECT_EQ(to_text(-512, column_unit::bytes), "-512 B");
    EXPECT_EQ(to_text(1610612736, column_unit::bytes), "1.50 GiB");
    EXPECT_EQ(to_text(999, column_unit::time), "999 ns");
    EXPECT_EQ(to_text(12345, column_unit::time), "12.35 us");
    EXPECT_EQ(to_text(2500000000, column_unit::time), "2.50 s");
    EXPECT_EQ(to_text(3.64e9, column_unit::bitrate), "3.64 Gbit/s");
    EXPECT_EQ(to_text(0.25, column_unit::rate), "0.25 /s");
    EXPECT_EQ(to_text(1200000.0, column_unit::rate), "1.20 M/s");
}

TEST(mrcctl_table, counts_stay_whole)
{
    EXPECT_EQ(to_text(18446744073709551615U, column_unit::none), "18446744073709551615");
    EXPECT_EQ(to_text(-5, column_unit::none), "-5");
    EXPECT_EQ(to_text(0.5, column_unit::none), "0.500");
}

TEST(mrcctl_table, other_values)
{
    EXPECT_EQ(to_text(nullptr, column_unit::bytes), "-");
    EXPECT_EQ(to_text("no carrier", column_unit::none), "no carrier");
    EXPECT_EQ(to_text(true, column_unit::none), "yes");
}

TEST(mrcctl_table, text_stands_left_and_numbers_right)
{
    static constexpr column columns[] = {{"NAME", "name"}, {"COUNT", "count"}, {"INNER", "of.inner"}};
    const json::array rows{json::object{{"name", "a"}, {"count", 1234567}, {"of", {{"inner", 1}}}},
                           json::object{{"name", "longer"}, {"count", nullptr}}};
    EXPECT_EQ(to_table(columns, rows), "NAME      COUNT  INNER\n"
                                       "a       1234567      1\n"
                                       "longer        -      -\n");
}

TEST(mrcctl_table, no_line_ends_in_spaces)
{
    static constexpr column columns[] = {{"A", "a"}, {"WORD", "b"}};
    EXPECT_EQ(to_table(columns, {json::object{{"a", 1}, {"b", "x"}}}), "A  WORD\n1  x\n");
}

TEST(mrcctl_table, a_list_has_a_line_per_value)
{
    static constexpr column lines[] = {{"qpn", "qpn"}, {"tx_bytes", "tx_bytes", column_unit::bytes}};
    EXPECT_EQ(to_list(lines, {{"qpn", 7}, {"tx_bytes", 2048}}), "qpn       7\ntx_bytes  2.00 KiB\n");
}

} // namespace
} // namespace mrc::ctl
