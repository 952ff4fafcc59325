// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "protocol/random_source.h"
#include "protocol/receive/sack_bitmap.h"

namespace mrc::protocol
{
namespace
{

TEST(sack_bitmap, edge_moves_over_marked_packets_only)
{
    sack_bitmap bitmap{1024};
    EXPECT_TRUE(bitmap.mark(1));
    EXPECT_TRUE(bitmap.mark(2));
    EXPECT_EQ(bitmap.advance(), 0);
    EXPECT_EQ(bitmap.above_edge(), 2u);
    EXPECT_EQ(bitmap.extract(0), 0b110u);
    EXPECT_TRUE(bitmap.mark(0));
    EXPECT_EQ(bitmap.advance(), 3);
    EXPECT_EQ(bitmap.above_edge(), 0u);
    EXPECT_TRUE(bitmap.test(2)) << "below the edge everything has arrived";
    EXPECT_FALSE(bitmap.mark(2));
}

TEST(sack_bitmap, refuses_what_lies_beyond_the_window)
{
    sack_bitmap bitmap{64};
    EXPECT_TRUE(bitmap.mark(63));
    EXPECT_FALSE(bitmap.mark(64));
    EXPECT_FALSE(bitmap.test(64));
    EXPECT_FALSE(bitmap.mark(63)) << "a duplicate";
}

TEST(sack_bitmap, extract_reads_ones_below_and_zeros_beyond)
{
    sack_bitmap bitmap{128};
    for (packet_number number = 0; number < 10; ++number)
        bitmap.mark(number);
    bitmap.advance();
    bitmap.mark(12);
    EXPECT_EQ(bitmap.extract(8), 0b10011u);
    EXPECT_EQ(bitmap.extract(-60), ~std::uint64_t{0});
    EXPECT_EQ(bitmap.extract(1000), 0u);
}

// Against a set, over many wraps of the ring, for windows of all alignments.
TEST(sack_bitmap, agrees_with_a_set)
{
    for (const std::uint32_t window : {1u, 63u, 64u, 65u, 100u, 191u, 1024u, 4096u}) {
        random_source random{window};
        sack_bitmap bitmap{window};
        std::set<packet_number> marked;
        packet_number edge = 0;
        for (int step = 0; step < 20'000; ++step) {
            const packet_number number = edge + random.below(random.below(4) == 0 ? window : std::min(window, 8u));
            EXPECT_EQ(bitmap.mark(number), marked.insert(number).second);
            while (marked.erase(edge) != 0)
                ++edge;
            ASSERT_EQ(bitmap.advance(), edge);
            ASSERT_EQ(bitmap.above_edge(), marked.size());
            const packet_number from = edge + random.below(window) - 32;
            std::uint64_t expected = 0;
            for (int bit = 0; bit < 64; ++bit)
                if (from + bit < edge || marked.contains(from + bit))
                    expected |= std::uint64_t{1} << bit;
            ASSERT_EQ(bitmap.extract(from), expected) << "window " << window << " edge " << edge << " from " << from;
        }
    }
}

} // namespace
} // namespace mrc::protocol
