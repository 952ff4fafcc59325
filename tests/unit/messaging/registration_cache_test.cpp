// SPDX-License-Identifier: Apache-2.0
#include "messaging/registration_cache.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace mrc::messaging
{
namespace
{

constexpr std::uintptr_t page = 4096;

const void *at(std::uintptr_t address)
{
    return reinterpret_cast<const void *>(address);
}

class registration_cache_test : public testing::Test
{
protected:
    registration_cache cache_with(std::size_t limit)
    {
        return registration_cache{[this](registered_range &range) {
                                      if (refuse_) {
                                          errno = EFAULT;
                                          return false;
                                      }
                                      range.lkey = ++keys_;
                                      ++registered_;
                                      range.owner = std::shared_ptr<void>{nullptr, [this](void *) { --registered_; }};
                                      return true;
                                  },
                                  limit};
    }

    std::uint32_t keys_ = 0;
    int registered_ = 0;
    bool refuse_ = false;
};

TEST_F(registration_cache_test, registers_whole_pages_once)
{
    registration_cache cache = cache_with(8);
    const held_range first = cache.find(at(10 * page + 100), 50, region_use::target);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->begin, 10 * page);
    EXPECT_EQ(first->end, 11 * page);
    EXPECT_EQ(cache.find(at(10 * page), page, region_use::target), first);
    EXPECT_EQ(cache.find(at(10 * page + 1), page, region_use::target)->end, 12 * page); // a byte of the next page
    EXPECT_EQ(cache.registrations(), 2U);
}

TEST_F(registration_cache_test, a_target_serves_as_source_and_not_the_other_way_round)
{
    registration_cache cache = cache_with(8);
    const held_range target = cache.find(at(page), 10, region_use::target);
    EXPECT_EQ(cache.find(at(page), 10, region_use::source), target);
    const held_range source = cache.find(at(5 * page), 10, region_use::source);
    EXPECT_NE(cache.find(at(5 * page), 10, region_use::target), source);
}

TEST_F(registration_cache_test, forgets_what_was_not_used_for_longest)
{
    registration_cache cache = cache_with(2);
    (void)cache.find(at(1 * page), 10, region_use::source);
    (void)cache.find(at(2 * page), 10, region_use::source);
    (void)cache.find(at(1 * page), 10, region_use::source); // page 2 is the oldest now
    (void)cache.find(at(3 * page), 10, region_use::source);
    EXPECT_EQ(registered_, 2);
    (void)cache.find(at(1 * page), 10, region_use::source);
    EXPECT_EQ(cache.registrations(), 3U);
    (void)cache.find(at(2 * page), 10, region_use::source);
    EXPECT_EQ(cache.registrations(), 4U);
}

TEST_F(registration_cache_test, keeps_what_is_held)
{
    registration_cache cache = cache_with(1);
    const held_range held = cache.find(at(1 * page), 10, region_use::source);
    for (std::uintptr_t i = 2; i < 10; ++i)
        (void)cache.find(at(i * page), 10, region_use::source);
    EXPECT_EQ(cache.size(), 2U); // it, and the last
    EXPECT_EQ(cache.find(at(1 * page), 10, region_use::source), held);
}

TEST_F(registration_cache_test, is_null_when_memory_cannot_be_registered)
{
    registration_cache cache = cache_with(1);
    refuse_ = true;
    EXPECT_FALSE(cache.find(at(page), 10, region_use::source));
    EXPECT_EQ(errno, EFAULT);
    EXPECT_EQ(cache.size(), 0U);
}

} // namespace
} // namespace mrc::messaging
