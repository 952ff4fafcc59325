// SPDX-License-Identifier: Apache-2.0
// Large blocks of a program's heap, in memory of mrc_alloc_shared(): what a program registers of them the daemon
// reaches by plain copies, as if it had asked for such memory itself.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace mrc::heap
{

// Any thread. Memory is taken in arenas, each a file of its own, so that many blocks need few descriptors. What is
// known of blocks stands in memory of the process's own: who shares the blocks cannot change it.
class shared_blocks
{
public:
    // Zeroed pages, which come when they are written first; null: there are no more. They are never given back.
    using source = void *(*)(std::size_t bytes);

    static constexpr std::size_t page = 4096;
    static constexpr std::size_t least_arena = std::size_t{256} << 20;
    static constexpr std::size_t most_arenas = 256;
    // A block of this size gives its pages back when it is freed. Smaller ones keep them for the next, as the C
    // library's malloc does (DEFAULT_MMAP_THRESHOLD_MAX).
    static constexpr std::size_t given_back_from = std::size_t{32} << 20;

    explicit shared_blocks(source more) : more_{more} {}

    // `alignment`: a power of two; blocks begin at pages. Null: there is no more.
    [[nodiscard]] void *allocate(std::size_t bytes, std::size_t alignment = page);
    // Whether an address is in memory that blocks are made of. Takes no lock.
    [[nodiscard]] bool owns(const void *address) const;
    // Bytes that a block has room for.
    [[nodiscard]] std::size_t capacity(const void *block);
    void free(void *block);

    // Around fork(), which would leave both processes with the same memory: the child gets a copy at the same
    // addresses, of what was there before the fork, as of all its memory. Where there is none for it, it gets no
    // access.
    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();

private:
    struct arena {
        std::uintptr_t begin = 0;
        std::size_t bytes = 0;
        void *copy = nullptr; // while a fork is under way
    };

    using ranges = std::map<std::uintptr_t, std::size_t>; // bytes by where they begin

    [[nodiscard]] std::size_t arenas() const { return arena_count_.load(std::memory_order_acquire); }
    bool add_arena(std::size_t bytes);
    [[nodiscard]] ranges::iterator least_with(std::size_t room); // of what is free
    [[nodiscard]] void *take(ranges::iterator range, std::size_t bytes, std::size_t alignment);
    void make_free(ranges::node_type range);
    void copy_used(const arena &from) const;

    source more_;
    std::mutex lock_;
    std::array<arena, most_arenas> arenas_{};
    std::atomic<std::size_t> arena_count_ = 0; // those before it do not change but for their copies
    ranges used_;
    ranges free_; // neighbours are one
};

} // namespace mrc::heap
