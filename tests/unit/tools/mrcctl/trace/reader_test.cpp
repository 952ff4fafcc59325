// SPDX-License-Identifier: Apache-2.0
#include "tools/mrcctl/trace/reader.h"

#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mrc::ctl
{
namespace
{

// Of a row each of whose words tells the event's number.
kernel::row_words<mrc_trace_row> words_of(std::uint64_t number)
{
    return {number, number, number, number};
}

struct written_rows {
    mrc_trace_ring ring{};
    std::vector<mrc_trace_row> rows = std::vector<mrc_trace_row>(MRC_TRACE_ROWS);

    void write(std::uint64_t count)
    {
        for (; count > 0; --count) {
            const std::uint64_t number = kernel::newest_traced(ring) + 1;
            kernel::write_traced(ring, rows[kernel::trace_place(number)], number, words_of(number));
        }
    }
};

// Each is that of its row.
std::vector<std::uint64_t> numbers_of(trace_reader &reader)
{
    std::vector<std::uint64_t> numbers;
    reader.take([&](std::uint64_t first, std::span<const mrc_trace_row> rows) {
        for (const mrc_trace_row &row : rows) {
            EXPECT_EQ(std::memcmp(&row, words_of(first).data(), sizeof(row)), 0) << first;
            numbers.push_back(first++);
        }
    });
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
    EXPECT_EQ(numbers.size(), MRC_TRACE_ROWS - 1U) << "the oldest may be being replaced";
    EXPECT_EQ(numbers.front(), 7U);
    EXPECT_EQ(reader.lost(), 6U);
}

TEST(trace_reader, rows_that_are_replaced_while_it_copies_them_are_lost)
{
    written_rows from;
    trace_reader reader{from.ring, from.rows.data()};
    from.write(MRC_TRACE_ROWS - 1);
    std::vector<std::uint64_t> firsts;
    std::uint64_t taken = 0;
    reader.take([&](std::uint64_t first, std::span<const mrc_trace_row> rows) {
        if (firsts.empty())
            from.write(1000); // by the worker, between two copies
        firsts.push_back(first);
        taken += rows.size();
    });
    EXPECT_EQ(firsts[0], 1U);
    EXPECT_EQ(firsts[1], 1001U) << "the worker may be writing the row of 1000";
    EXPECT_EQ(taken + reader.lost(), MRC_TRACE_ROWS - 1U);
    EXPECT_EQ(numbers_of(reader).size(), 1000U) << "what came meanwhile";
}

TEST(trace_reader, what_it_gives_is_whole_while_another_thread_writes)
{
    constexpr std::uint64_t all = 40ULL * MRC_TRACE_ROWS;
    written_rows from;
    trace_reader reader{from.ring, from.rows.data()};
    const std::jthread writer{[&] { from.write(all); }};
    std::uint64_t taken = 0;
    while (taken + reader.lost() < all)
        taken += numbers_of(reader).size();
    EXPECT_EQ(taken + reader.lost(), all);
}

} // namespace
} // namespace mrc::ctl
