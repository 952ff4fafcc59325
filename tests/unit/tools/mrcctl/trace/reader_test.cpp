// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/trace/reader.h"

#include <vector>

#include <gtest/gtest.h>

namespace mrc::ctl
{
namespace
{

struct written_rows {
    mrc_trace_ring ring{};
    std::vector<mrc_trace_row> rows = std::vector<mrc_trace_row>(MRC_TRACE_ROWS);

    void write(std::uint64_t count)
    {
        for (; count > 0; --count) {
            mrc_trace_row row{};
            row.number = ++ring.newest;
            kernel::write_row(rows[(row.number - 1) % MRC_TRACE_ROWS], row);
        }
    }
};

std::vector<std::uint64_t> numbers_of(trace_reader &reader)
{
    std::vector<std::uint64_t> numbers;
    reader.take([&](const mrc_trace_row &row) { numbers.push_back(row.number); });
    return numbers;
}

TEST(trace_reader, takes_each_row_once_from_where_it_began)
{
    written_rows from;
    from.write(3);
    trace_reader reader{from.ring, from.rows.data()};
    EXPECT_TRUE(numbers_of(reader).empty()) << "of a trace before";
    from.write(2);
    EXPECT_EQ(numbers_of(reader), (std::vector<std::uint64_t>{4, 5}));
    EXPECT_TRUE(numbers_of(reader).empty());
    EXPECT_EQ(reader.lost(), 0U);
}

TEST(trace_reader, counts_the_rows_that_it_came_too_late_for)
{
    written_rows from;
    trace_reader reader{from.ring, from.rows.data()};
    from.write(MRC_TRACE_ROWS + 5);
    const auto numbers = numbers_of(reader);
    EXPECT_EQ(numbers.size(), MRC_TRACE_ROWS);
    EXPECT_EQ(numbers.front(), 6U);
    EXPECT_EQ(reader.lost(), 5U);
}

TEST(trace_reader, a_row_that_is_being_replaced_is_lost)
{
    written_rows from;
    trace_reader reader{from.ring, from.rows.data()};
    from.write(3);
    from.rows[0].number = 0;                  // while it is written
    from.rows[1].number = MRC_TRACE_ROWS + 2; // and what took its place
    EXPECT_EQ(numbers_of(reader), (std::vector<std::uint64_t>{3}));
    EXPECT_EQ(reader.lost(), 2U);
}

} // namespace
} // namespace mrc::ctl
