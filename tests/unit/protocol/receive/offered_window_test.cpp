// SPDX-License-Identifier: Apache-2.0
#include "protocol/receive/offered_window.h"

#include <vector>

#include <gtest/gtest.h>

namespace mrc::protocol
{
namespace
{

constexpr std::size_t block = 64 * 1024;
constexpr slab_limits limits{.most_bytes = 16 * block, .spare_bytes = block};

// A pool of which so many sixteenths are lent.
class lent_pool
{
public:
    explicit lent_pool(std::size_t sixteenths)
    {
        for (std::size_t taken = 0; taken < sixteenths; ++taken) {
            pool_.want(block);
            (void)pool_.replenish();
            blocks_.push_back(pool_.take(block));
        }
    }
    ~lent_pool()
    {
        for (void *each : blocks_)
            pool_.give_back(each, block);
    }
    lent_pool(const lent_pool &) = delete;
    lent_pool &operator=(const lent_pool &) = delete;
    [[nodiscard]] const slab_pool *get() const { return &pool_; }

private:
    slab_pool pool_{limits};
    std::vector<void *> blocks_;
};

TEST(offered_window, is_the_whole_one_while_nothing_is_short)
{
    EXPECT_EQ(offered_units(1024, whole_window, nullptr), 8);
    EXPECT_EQ(offered_units(4096, whole_window, lent_pool{0}.get()), 32);
    EXPECT_EQ(offered_units(1U << 16, whole_window, nullptr), 255) << "as much as the field holds";
}

TEST(offered_window, follows_the_memory_that_is_left)
{
    EXPECT_EQ(offered_units(4096, whole_window, lent_pool{8}.get()), 32) << "half is free";
    EXPECT_EQ(offered_units(4096, whole_window, lent_pool{12}.get()), 16);
    EXPECT_EQ(offered_units(4096, whole_window, lent_pool{14}.get()), 8);
    EXPECT_EQ(offered_units(4096, whole_window, lent_pool{16}.get()), 1) << "and never shuts";
}

TEST(offered_window, follows_the_load)
{
    EXPECT_EQ(offered_units(4096, whole_window / 2, nullptr), 16);
    EXPECT_EQ(offered_units(1024, 1, nullptr), 1);
    EXPECT_EQ(offered_units(4096, whole_window / 2, lent_pool{12}.get()), 8) << "of what memory leaves";
}

} // namespace
} // namespace mrc::protocol
