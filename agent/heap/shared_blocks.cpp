// SPDX-License-Identifier: Apache-2.0
#include "heap/shared_blocks.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <span>

#include <sys/mman.h>

namespace mrc::heap
{

namespace
{

std::size_t rounded_up(std::size_t bytes, std::size_t to)
{
    return (bytes + to - 1) / to * to;
}

void *at(std::uintptr_t address)
{
    return reinterpret_cast<void *>(address);
}

std::uintptr_t number_of(const void *address)
{
    return reinterpret_cast<std::uintptr_t>(address);
}

// Of whole pages, those that were ever written: the others are zero in a copy, too. Allocates nothing.
void copy_written(std::uintptr_t from, std::size_t bytes, std::byte *to)
{
    std::array<unsigned char, 1024> written{};
    while (bytes != 0) {
        const std::size_t pages = std::min(bytes / shared_blocks::page, written.size());
        if (::mincore(at(from), pages * shared_blocks::page, written.data()) != 0)
            written.fill(1);
        for (std::size_t number = 0; number < pages; ++number)
            if ((written[number] & 1) != 0)
                std::memcpy(to + number * shared_blocks::page, at(from + number * shared_blocks::page),
                            shared_blocks::page);
        from += pages * shared_blocks::page;
        to += pages * shared_blocks::page;
        bytes -= pages * shared_blocks::page;
    }
}

} // namespace

void *shared_blocks::allocate(std::size_t bytes, std::size_t alignment)
{
    if (bytes == 0 || bytes > PTRDIFF_MAX - least_arena || alignment > least_arena)
        return nullptr;
    const std::size_t wanted = rounded_up(bytes, page);
    const std::size_t room = wanted + (alignment > page ? alignment - page : 0);
    const std::scoped_lock lock{lock_};
    try {
        auto found = least_with(room);
        if (found == free_.end() && add_arena(room))
            found = least_with(room);
        return found == free_.end() ? nullptr : take(found, wanted, std::max(alignment, page));
    } catch (const std::bad_alloc &) { // before anything was changed
        return nullptr;
    }
}

shared_blocks::ranges::iterator shared_blocks::least_with(std::size_t room)
{
    auto least = free_.end();
    for (auto range = free_.begin(); range != free_.end(); ++range)
        if (range->second >= room && (least == free_.end() || range->second < least->second))
            least = range;
    return least;
}

void *shared_blocks::take(ranges::iterator range, std::size_t bytes, std::size_t alignment)
{
    const auto [begin, size] = *range;
    const std::uintptr_t block = rounded_up(begin, alignment);
    ranges taken{{block, bytes}};
    ranges rest;
    if (block + bytes != begin + size)
        rest.emplace(block + bytes, begin + size - block - bytes);
    if (block == begin)
        free_.erase(range);
    else
        range->second = block - begin;
    free_.merge(rest);
    used_.merge(taken);
    return at(block);
}

bool shared_blocks::owns(const void *address) const
{
    const std::uintptr_t number = number_of(address);
    return std::ranges::any_of(std::span{arenas_}.first(arenas()),
                               [number](const arena &one) { return number - one.begin < one.bytes; });
}

std::size_t shared_blocks::capacity(const void *block)
{
    const std::scoped_lock lock{lock_};
    const auto found = used_.find(number_of(block));
    return found == used_.end() ? 0 : found->second;
}

void shared_blocks::free(void *block)
{
    const std::scoped_lock lock{lock_};
    ranges::node_type gone = used_.extract(number_of(block));
    if (!gone)
        return;
    if (gone.mapped() >= given_back_from)
        ::madvise(block, gone.mapped(), MADV_REMOVE);
    make_free(std::move(gone));
}

bool shared_blocks::add_arena(std::size_t bytes)
{
    const std::size_t count = arenas();
    if (count == most_arenas)
        return false;
    const std::size_t size = std::max(least_arena, bytes);
    void *memory = more_(size);
    if (memory == nullptr)
        return false;
    arenas_[count] = {.begin = number_of(memory), .bytes = size};
    arena_count_.store(count + 1, std::memory_order_release);
    ranges all{{number_of(memory), size}};
    make_free(all.extract(all.begin()));
    return true;
}

// Arenas that happen to be neighbours stay apart: each has a file of its own.
void shared_blocks::make_free(ranges::node_type range)
{
    const auto begins_arena = [this](std::uintptr_t address) {
        const auto all = std::span{arenas_}.first(arenas());
        return std::ranges::find(all, address, &arena::begin) != all.end();
    };
    const auto next = free_.lower_bound(range.key());
    const auto before = next == free_.begin() ? free_.end() : std::prev(next);
    const bool joins_before =
        before != free_.end() && before->first + before->second == range.key() && !begins_arena(range.key());
    if (next != free_.end() && next->first == range.key() + range.mapped() && !begins_arena(next->first)) {
        range.mapped() += next->second;
        free_.erase(next);
    }
    if (joins_before)
        before->second += range.mapped();
    else
        free_.insert(std::move(range));
}

void shared_blocks::copy_used(const arena &from) const
{
    for (auto block = used_.lower_bound(from.begin); block != used_.end() && block->first - from.begin < from.bytes;
         ++block)
        copy_written(block->first, block->second, static_cast<std::byte *>(from.copy) + (block->first - from.begin));
}

void shared_blocks::before_fork()
{
    lock_.lock();
    for (arena &one : std::span{arenas_}.first(arenas())) {
        void *memory =
            ::mmap(nullptr, one.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        one.copy = memory == MAP_FAILED ? nullptr : memory;
        if (one.copy != nullptr)
            copy_used(one);
    }
}

void shared_blocks::after_fork_in_parent()
{
    for (arena &one : std::span{arenas_}.first(arenas())) {
        if (one.copy != nullptr)
            ::munmap(one.copy, one.bytes);
        one.copy = nullptr;
    }
    lock_.unlock();
}

void shared_blocks::after_fork_in_child()
{
    [[maybe_unused]] void *unreachable = nullptr;
    for (arena &one : std::span{arenas_}.first(arenas())) {
        if (one.copy == nullptr ||
            ::mremap(one.copy, one.bytes, one.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at(one.begin)) == MAP_FAILED)
            unreachable = ::mmap(at(one.begin), one.bytes, PROT_NONE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
        one.copy = nullptr;
    }
    lock_.unlock();
}

} // namespace mrc::heap
