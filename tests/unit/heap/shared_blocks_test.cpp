// SPDX-License-Identifier: Apache-2.0
#include "heap/shared_blocks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mrc::heap
{
namespace
{

constexpr std::size_t page = shared_blocks::page;
int taken = 0;        // arenas
int left_to_give = 0; // of the source

// As mrc_alloc_shared(): zeroed pages that a child would share.
void *give(std::size_t bytes)
{
    if (left_to_give == 0)
        return nullptr;
    --left_to_give;
    ++taken;
    void *at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? nullptr : at;
}

class a_heap : public ::testing::Test
{
protected:
    a_heap()
    {
        taken = 0;
        left_to_give = 3;
    }

    static std::uintptr_t number_of(const void *block) { return reinterpret_cast<std::uintptr_t>(block); }

    static std::byte &byte_at(void *block, std::size_t offset = 0) { return static_cast<std::byte *>(block)[offset]; }

    static std::size_t resident_pages(void *block, std::size_t bytes)
    {
        std::vector<unsigned char> pages(bytes / page);
        EXPECT_EQ(::mincore(block, bytes, pages.data()), 0);
        return static_cast<std::size_t>(std::ranges::count_if(pages, [](unsigned char one) { return (one & 1) != 0; }));
    }

    // Whether this holds in a child process, which is made between the calls that belong around it.
    template <typename Check, typename Meanwhile>
    bool holds_in_child(Check check, Meanwhile in_parent)
    {
        std::array<int, 2> parent_is_done{};
        EXPECT_EQ(::pipe(parent_is_done.data()), 0);
        blocks.before_fork();
        const pid_t child = ::fork();
        if (child == 0) {
            blocks.after_fork_in_child();
            ::close(parent_is_done[1]);
            char none = 0;
            (void)!::read(parent_is_done[0], &none, 1); // until the end is closed
            ::_exit(check() ? 0 : 1);
        }
        blocks.after_fork_in_parent();
        in_parent();
        ::close(parent_is_done[0]);
        ::close(parent_is_done[1]);
        int status = -1;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        return status == 0;
    }

    shared_blocks blocks{&give};
};

TEST_F(a_heap, has_blocks_at_pages_each_for_itself)
{
    void *first = blocks.allocate(40'000);
    void *second = blocks.allocate(40'000);
    ASSERT_TRUE(first != nullptr && second != nullptr);
    EXPECT_EQ(number_of(first) % page, 0U);
    EXPECT_EQ(number_of(second) % page, 0U);
    EXPECT_EQ(blocks.capacity(first), 40'960U);
    EXPECT_GE(std::max(number_of(first), number_of(second)) - std::min(number_of(first), number_of(second)), 40'960U);
    EXPECT_TRUE(blocks.owns(first));
    EXPECT_TRUE(blocks.owns(&byte_at(second, 39'999)));
    EXPECT_FALSE(blocks.owns(this));
    EXPECT_EQ(taken, 1);
}

TEST_F(a_heap, aligns_as_it_is_asked_to)
{
    (void)blocks.allocate(page);
    for (const std::size_t alignment : {std::size_t{64}, std::size_t{1} << 16, std::size_t{2} << 20})
        EXPECT_EQ(number_of(blocks.allocate(page, alignment)) % alignment, 0U) << alignment;
    EXPECT_EQ(taken, 1) << "what stands before a block that is aligned is used, too";
}

TEST_F(a_heap, gives_memory_again_when_it_is_free)
{
    std::array<void *, 4> all{};
    for (void *&one : all)
        one = blocks.allocate(64 * page);
    blocks.free(all[1]);
    EXPECT_EQ(blocks.allocate(64 * page), all[1]);
    for (const std::size_t next : {1U, 0U, 2U})
        blocks.free(all.at(next));
    EXPECT_EQ(blocks.allocate(192 * page), all[0]) << "neighbours that are free are one";
    EXPECT_EQ(blocks.capacity(all[1]), 0U);
    blocks.free(all[1]); // no block, as long as that one is
    EXPECT_EQ(blocks.capacity(all[0]), 192 * page);
    EXPECT_EQ(taken, 1);
}

TEST_F(a_heap, takes_the_least_that_is_large_enough)
{
    void *large = blocks.allocate(100 * page);
    void *wall = blocks.allocate(page);
    void *small = blocks.allocate(10 * page);
    void *end = blocks.allocate(page);
    blocks.free(large);
    blocks.free(small);
    EXPECT_EQ(blocks.allocate(9 * page), small);
    EXPECT_TRUE(wall != nullptr && end != nullptr);
}

TEST_F(a_heap, gives_nothing_twice)
{
    struct held {
        void *block;
        std::size_t last; // byte
        std::byte mark;
    };
    std::mt19937_64 random{19};
    std::vector<held> all;
    for (int step = 0; step < 20'000; ++step) {
        if (all.size() < 200 && random() % 2 == 0) {
            const std::size_t bytes = 1 + random() % (random() % 8 == 0 ? 4'000'000 : 100'000);
            void *block = blocks.allocate(bytes, std::size_t{1} << (6 + random() % 15));
            ASSERT_NE(block, nullptr);
            all.push_back({.block = block, .last = bytes - 1, .mark = static_cast<std::byte>(step)});
            byte_at(block) = byte_at(block, bytes - 1) = all.back().mark;
        } else if (!all.empty()) {
            std::swap(all[random() % all.size()], all.back());
            ASSERT_EQ(byte_at(all.back().block), all.back().mark);
            ASSERT_EQ(byte_at(all.back().block, all.back().last), all.back().mark);
            blocks.free(all.back().block);
            all.pop_back();
        }
    }
    for (const held &one : all)
        blocks.free(one.block);
    const int before = taken;
    EXPECT_NE(blocks.allocate(shared_blocks::least_arena), nullptr);
    EXPECT_EQ(taken, before) << "all that was free is one again";
}

TEST_F(a_heap, takes_arenas_until_there_are_no_more)
{
    void *first = blocks.allocate(shared_blocks::least_arena);
    void *larger = blocks.allocate(shared_blocks::least_arena + page);
    EXPECT_TRUE(first != nullptr && larger != nullptr);
    EXPECT_EQ(taken, 2);
    EXPECT_NE(blocks.allocate(page), nullptr);
    EXPECT_EQ(taken, 3);
    EXPECT_EQ(blocks.allocate(shared_blocks::least_arena), nullptr);
    blocks.free(first);
    EXPECT_EQ(blocks.allocate(shared_blocks::least_arena), first);
    EXPECT_EQ(blocks.allocate(PTRDIFF_MAX), nullptr);
    EXPECT_EQ(blocks.allocate(0), nullptr);
}

TEST_F(a_heap, gives_pages_of_large_blocks_back)
{
    void *small = blocks.allocate(shared_blocks::given_back_from - page);
    void *large = blocks.allocate(shared_blocks::given_back_from);
    byte_at(small) = byte_at(large) = std::byte{1};
    EXPECT_EQ(resident_pages(large, shared_blocks::given_back_from), 1U);
    blocks.free(small);
    blocks.free(large);
    EXPECT_EQ(resident_pages(large, shared_blocks::given_back_from), 0U);
    EXPECT_EQ(byte_at(large), std::byte{});
    EXPECT_EQ(byte_at(small), std::byte{1});
}

TEST_F(a_heap, is_a_childs_own_after_a_fork)
{
    void *block = blocks.allocate(5000 * page); // more than mincore() is asked of at a time
    void *freed = blocks.allocate(page);
    blocks.free(freed);
    byte_at(block) = byte_at(block, 4999 * page) = std::byte{1};
    EXPECT_TRUE(holds_in_child(
        [&] {
            const bool as_it_was = byte_at(block) == std::byte{1} && byte_at(block, 4999 * page) == std::byte{1} &&
                                   byte_at(block, page) == std::byte{};
            byte_at(block) = std::byte{3};
            return as_it_was && blocks.capacity(block) == 5000 * page && blocks.allocate(page) != nullptr;
        },
        [&] { byte_at(block, page) = byte_at(block, 4999 * page) = std::byte{2}; }))
        << "what the parent wrote later is not there";
    EXPECT_EQ(byte_at(block), std::byte{1}) << "nor in the parent what the child wrote";
}

TEST_F(a_heap, that_has_nothing_goes_through_a_fork)
{
    EXPECT_TRUE(holds_in_child([&] { return blocks.allocate(page) != nullptr; }, [] {}));
    EXPECT_NE(blocks.allocate(page), nullptr);
}

} // namespace
} // namespace mrc::heap
