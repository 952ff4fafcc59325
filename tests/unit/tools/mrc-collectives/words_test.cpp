// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-collectives/words.h"

#include <vector>

#include <gtest/gtest.h>

#include "tools/mrc-collectives/measure.h"
#include "tools/mrc-collectives/operation.h"

namespace mrc::collectives
{

namespace
{

constexpr std::size_t count = 100;

std::vector<word> written(word_run what)
{
    std::vector<word> made(count);
    write(made, what);
    return made;
}

TEST(words, every_wrong_word_is_found)
{
    const word_run wanted = sent(1, 2, 3);
    for (std::size_t index = 0; index < count; ++index)
        for (const word flipped : {1U, 0x80000000U}) {
            auto buffer = written(wanted);
            EXPECT_FALSE(compare(buffer, wanted));
            buffer[index] ^= flipped;
            const auto found = compare(buffer, wanted);
            ASSERT_TRUE(found);
            EXPECT_EQ(found->index, index);
            EXPECT_EQ(found->found ^ found->wanted, flipped);
        }
}

TEST(words, those_of_others_for_others_of_other_rounds_or_places_differ)
{
    const auto buffer = written(sent(1, 2, 3));
    for (const word_run other : {sent(0, 2, 3), sent(2, 1, 3), sent(1, 3, 3), sent(1, 2, 4)})
        EXPECT_TRUE(compare(buffer, other));
    EXPECT_TRUE(compare(buffer, sent(1, 2, 3), 1));
}

TEST(words, what_was_not_written_is_no_result)
{
    std::vector<word> buffer(count);
    spoil(buffer);
    for (std::uint64_t round = 0; round < 100; ++round) {
        EXPECT_TRUE(compare(buffer, sent(0, 0, round)));
        EXPECT_TRUE(compare_sum(buffer, 2, round));
    }
}

TEST(words, the_sum_is_that_of_all_ranks_and_of_nothing_less)
{
    constexpr std::uint32_t ranks = 5;
    std::vector<word> sum(count);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        EXPECT_TRUE(compare_sum(sum, ranks, 7));
        const auto one = written(sent(rank, 0, 7));
        for (std::size_t i = 0; i < count; ++i)
            sum[i] += one[i];
    }
    EXPECT_FALSE(compare_sum(sum, ranks, 7));
    EXPECT_FALSE(compare_sum(std::span{sum}.subspan(20), ranks, 7, 20));
    EXPECT_TRUE(compare_sum(std::span{sum}.subspan(20), ranks, 7));
}

TEST(words, buffers_have_whole_words_for_each_rank_that_has_a_part)
{
    EXPECT_EQ(words_of(collective::all_reduce, 8, 3), 2U);
    EXPECT_EQ(words_of(collective::broadcast, 9, 3), 3U);
    EXPECT_EQ(words_of(collective::all_gather, 8, 2), 2U);
    EXPECT_EQ(words_of(collective::reduce_scatter, 8, 3), 3U);
    EXPECT_EQ(words_of(collective::all_to_all, 1, 8), 8U);
}

TEST(words, small_results_are_taken_back_to_back_and_large_ones_alone)
{
    EXPECT_EQ(batch_of(8, 1000), 16U);
    EXPECT_EQ(batch_of(8, 3), 3U);
    EXPECT_EQ(batch_of(1 << 20, 1000), 4U);
    EXPECT_EQ(batch_of(256 << 20, 1000), 1U);
}

} // namespace

} // namespace mrc::collectives
