// SPDX-License-Identifier: Apache-2.0
#include "heap/shared_blocks.h"

#include <algorithm>
#include <cstring>
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
    const std::size_t slack = alignment > page ? alignment - page : 0;
    const std::scoped_lock lock{lock_};
    try {
        auto found = free_by_size_.lower_bound({wanted + slack, 0});
        if (found == free_by_size_.end()) {
            if (!add_arena(wanted + slack))
                return nullptr;
            found = free_by_size_.lower_bound({wanted + slack, 0});
        }
        const auto [size, begin] = *found;
        const std::uintptr_t block = rounded_up(begin, std::max(alignment, page));
        used_.emplace(block, wanted); // first: it may throw
        take_from_free(free_.find(begin));
        if (block != begin)
            make_free(begin, block - begin);
        if (block + wanted != begin + size)
            make_free(block + wanted, begin + size - block - wanted);
        return at(block);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
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
    const auto found = used_.find(number_of(block));
    if (found == used_.end())
        return;
    const auto [begin, bytes] = *found;
    if (bytes >= given_back_from)
        ::madvise(block, bytes, MADV_REMOVE);
    used_.erase(found);
    try {
        make_free(begin, bytes);
    } catch (const std::bad_alloc &) { // it is nobody's from now on
    }
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
    make_free(number_of(memory), size);
    return true;
}

// Arenas that happen to be neighbours stay apart: each has a file of its own.
void shared_blocks::make_free(std::uintptr_t begin, std::size_t bytes)
{
    const auto begins_arena = [this](std::uintptr_t address) {
        const auto all = std::span{arenas_}.first(arenas());
        return std::ranges::find(all, address, &arena::begin) != all.end();
    };
    auto next = free_.lower_bound(begin);
    if (next != free_.end() && next->first == begin + bytes && !begins_arena(next->first)) {
        bytes += next->second;
        const auto joined = next++;
        take_from_free(joined);
    }
    if (next != free_.begin() && !begins_arena(begin)) {
        const auto before = std::prev(next);
        if (before->first + before->second == begin) {
            begin = before->first;
            bytes += before->second;
            take_from_free(before);
        }
    }
    free_.emplace(begin, bytes);
    free_by_size_.emplace(bytes, begin);
}

void shared_blocks::take_from_free(std::map<std::uintptr_t, std::size_t>::iterator range)
{
    free_by_size_.erase({range->second, range->first});
    free_.erase(range);
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
    for (arena &one : std::span{arenas_}.first(arenas())) {
        if (one.copy == nullptr ||
            ::mremap(one.copy, one.bytes, one.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at(one.begin)) == MAP_FAILED)
            ::mmap(at(one.begin), one.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
        one.copy = nullptr;
    }
    lock_.unlock();
}

} // namespace mrc::heap
