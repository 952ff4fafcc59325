// SPDX-License-Identifier: Apache-2.0
#include "protocol/slab_pool.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace mrc::protocol
{
namespace
{

TEST(slab_pool, sizes_waste_at_most_a_fifth)
{
    std::size_t before = 0;
    for (std::size_t bytes = 1; bytes <= 200'000; ++bytes) {
        const unsigned index = slab_pool::size_index(bytes);
        const std::size_t size = slab_pool::size_at(index);
        ASSERT_LT(index, slab_pool::sizes);
        ASSERT_GE(size, bytes);
        ASSERT_GE(size, before) << "larger ones never get less";
        ASSERT_EQ(size % slab_pool::line_bytes, 0u);
        if (bytes > 256) {
            ASSERT_LE(size - bytes, std::max(size / 5, slab_pool::line_bytes)) << bytes;
        }
        before = size;
    }
}

TEST(slab_pool, gives_nothing_that_it_has_not_set_aside_before)
{
    slab_pool pool{{.most_bytes = 1 << 20, .spare_bytes = 4096}};
    EXPECT_EQ(pool.take(1000), nullptr);
    EXPECT_TRUE(pool.take_refused());
    EXPECT_FALSE(pool.take_refused()) << "told once";
    EXPECT_EQ(pool.held_bytes(), 0u);
    EXPECT_TRUE(pool.replenish());
    EXPECT_EQ(pool.held_bytes(), 4096u);
    EXPECT_FALSE(pool.replenish()) << "there is enough";
}

TEST(slab_pool, blocks_are_lent_once_and_come_back)
{
    slab_pool pool{{.most_bytes = 1 << 20, .spare_bytes = 4096}};
    pool.want(1024);
    ASSERT_TRUE(pool.replenish());
    std::set<void *> lent;
    for (int n = 0; n < 4; ++n) {
        void *block = pool.take(1024);
        ASSERT_NE(block, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % slab_pool::line_bytes, 0u);
        EXPECT_TRUE(lent.insert(block).second);
    }
    EXPECT_EQ(pool.lent_bytes(), 4096u);
    EXPECT_EQ(pool.take(1024), nullptr);
    for (void *block : lent)
        pool.give_back(block, 1024);
    EXPECT_EQ(pool.lent_bytes(), 0u);
    for (int n = 0; n < 4; ++n)
        EXPECT_TRUE(lent.contains(pool.take(1000))) << "of the same size";
}

TEST(slab_pool, keeps_its_spare_as_blocks_are_lent)
{
    slab_pool pool{{.most_bytes = 1 << 20, .spare_bytes = 4096}};
    pool.want(1024);
    for (int round = 0; round < 20; ++round) {
        (void)pool.replenish();
        for (int n = 0; n < 4; ++n)
            ASSERT_NE(pool.take(1024), nullptr) << "round " << round;
    }
    EXPECT_EQ(pool.held_bytes(), 20u * 4096) << "not more than were asked for";
}

TEST(slab_pool, stays_within_its_limit)
{
    slab_pool pool{{.most_bytes = 10'000, .spare_bytes = 4096}};
    std::vector<void *> lent;
    pool.want(1024);
    while (pool.replenish())
        while (void *block = pool.take(1024))
            lent.push_back(block);
    EXPECT_EQ(lent.size(), 9u);
    EXPECT_LE(pool.held_bytes(), 10'000u);
    pool.want(512);
    EXPECT_TRUE(pool.replenish()) << "what is left serves a smaller size";
    EXPECT_NE(pool.take(512), nullptr);
    EXPECT_EQ(pool.take(512), nullptr);
    pool.give_back(lent.back(), 1024);
    EXPECT_EQ(pool.take(1024), lent.back()) << "at the limit, what comes back is lent again";
}

TEST(slab_pool, a_size_is_never_without_any_while_there_is_room)
{
    slab_pool pool{{.most_bytes = 1 << 20, .spare_bytes = 4096}};
    pool.want(100'000);
    EXPECT_TRUE(pool.replenish());
    EXPECT_NE(pool.take(100'000), nullptr) << "larger than the spare";
}

} // namespace
} // namespace mrc::protocol
