// SPDX-License-Identifier: Apache-2.0
#include "protocol/slab_ring.h"

#include <gtest/gtest.h>

#include "protocol/slab_queue.h"

namespace mrc::protocol
{
namespace
{

struct slab_ring_test : testing::Test {
    slab_ring_test()
    {
        ring.announce();
        (void)pool.replenish();
    }
    void fill(std::uint64_t begin, std::uint64_t end)
    {
        for (std::uint64_t number = begin; number < end; ++number)
            ring[number] = number;
    }
    void expect(std::uint64_t begin, std::uint64_t end)
    {
        for (std::uint64_t number = begin; number < end; ++number)
            ASSERT_EQ(ring[number], number);
    }

    slab_pool pool{{.most_bytes = 1 << 20, .spare_bytes = 0}}; // one of each size
    slab_ring<std::uint64_t> ring{16, 256, &pool};
};

TEST_F(slab_ring_test, holds_nothing_to_begin_with)
{
    EXPECT_FALSE(ring.held());
    EXPECT_EQ(ring.capacity(), 0u);
    EXPECT_EQ(pool.lent_bytes(), 0u);
    EXPECT_EQ(pool.held_bytes(), (16u + 64 + 256) * sizeof(std::uint64_t)) << "all that it may ask for is there";
}

TEST_F(slab_ring_test, items_keep_their_numbers_as_it_grows)
{
    ASSERT_TRUE(ring.reserve(1000, 1016));
    EXPECT_EQ(ring.capacity(), 16u);
    EXPECT_EQ(ring[1003], 0u) << "new places are empty";
    fill(1000, 1016);
    ASSERT_TRUE(ring.reserve(1005, 1030));
    EXPECT_EQ(ring.capacity(), 64u);
    expect(1005, 1016);
    fill(1016, 1069);
    ASSERT_TRUE(ring.reserve(1005, 1070));
    EXPECT_EQ(ring.capacity(), 256u);
    expect(1005, 1069);
    EXPECT_FALSE(ring.reserve(1005, 1262)) << "never more than its most";
    expect(1005, 1069);
    EXPECT_EQ(pool.lent_bytes(), 256 * sizeof(std::uint64_t));
}

TEST_F(slab_ring_test, shrinks_to_what_is_needed_and_goes)
{
    ASSERT_TRUE(ring.reserve(100, 300));
    fill(100, 300);
    ring.fit(290, 300);
    EXPECT_EQ(ring.capacity(), 16u);
    expect(290, 300);
    ring.fit(300, 300);
    EXPECT_FALSE(ring.held());
    EXPECT_EQ(pool.lent_bytes(), 0u);
}

TEST_F(slab_ring_test, an_empty_pool_leaves_everything_as_it_was)
{
    slab_ring<std::uint64_t> other{16, 256, &pool};
    ASSERT_TRUE(other.reserve(0, 64)); // the only block of this size
    EXPECT_TRUE(ring.reserve(0, 16));
    fill(0, 16);
    EXPECT_FALSE(ring.reserve(0, 17));
    EXPECT_EQ(ring.capacity(), 16u);
    expect(0, 16);
    other.give_back();
    EXPECT_TRUE(ring.reserve(0, 17));
    expect(0, 16);
}

TEST_F(slab_ring_test, gives_back_what_it_holds_when_it_goes)
{
    {
        slab_ring<std::uint64_t> brief{16, 256, &pool};
        ASSERT_TRUE(brief.hold());
        EXPECT_NE(pool.lent_bytes(), 0u);
    }
    EXPECT_EQ(pool.lent_bytes(), 0u);
}

TEST(slab_ring, has_all_from_the_start_without_a_pool)
{
    slab_ring<std::uint64_t> ring{16, 200, nullptr};
    EXPECT_EQ(ring.capacity(), 256u);
    EXPECT_TRUE(ring.reserve(0, 256));
    ring[5] = 5;
    ring.give_back();
    EXPECT_EQ(ring[5], 5u) << "nobody else could use it";
}

TEST(slab_queue, keeps_order_while_it_grows_and_refuses_what_is_too_much)
{
    slab_pool pool{{.most_bytes = 1 << 20, .spare_bytes = 0}};
    slab_queue<int> queue{64, &pool};
    EXPECT_FALSE(queue.push(1)) << "nobody has told the pool";
    queue.announce();
    (void)pool.replenish();
    int next_in = 0;
    int next_out = 0;
    for (int round = 0; round < 100; ++round) {
        for (int n = 0; n < 5 && next_in - next_out < 64; ++n)
            ASSERT_TRUE(queue.push(next_in++));
        for (int n = 0; n < 4; ++n)
            ASSERT_EQ(queue.pop(), next_out++);
    }
    while (queue.push(next_in))
        ++next_in;
    EXPECT_EQ(next_in - next_out, 64);
    queue.rest();
    EXPECT_NE(pool.lent_bytes(), 0u) << "something waits in it";
    while (!queue.empty())
        ASSERT_EQ(queue.pop(), next_out++);
    queue.rest();
    EXPECT_EQ(pool.lent_bytes(), 0u);
}

} // namespace
} // namespace mrc::protocol
