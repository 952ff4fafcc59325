// SPDX-License-Identifier: Apache-2.0
// A stretch of a sequence of items that are numbered from 0: the packets of a window, the requests of a queue. It
// borrows what it stores them in (slab_pool.h) and holds nothing to begin with. It begins with room for `least` items,
// moves to four times as much when that is too little, and ends at `most`; so moves cost each item less than one copy.
//
// Without a pool it owns `most` items from the beginning, and never fails.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "protocol/slab_pool.h"

namespace mrc::protocol
{

template <typename item>
class slab_ring
{
    static_assert(std::is_trivially_destructible_v<item>);

public:
    // Both are rounded up to a power of two.
    slab_ring(std::size_t least, std::size_t most, slab_pool *pool)
        : pool_{pool}, most_log2_{log2_of(most)}, least_log2_{std::min(log2_of(least), most_log2_)}
    {
        if (pool_ == nullptr)
            place(::operator new(bytes_of(largest())), largest());
    }
    // Of one size: held, or not.
    slab_ring(std::size_t size, slab_pool *pool) : slab_ring{size, size, pool} {}
    slab_ring(const slab_ring &) = delete;
    slab_ring &operator=(const slab_ring &) = delete;
    ~slab_ring()
    {
        if (pool_ == nullptr)
            ::operator delete(items_);
        else
            release();
    }

    [[nodiscard]] std::size_t capacity() const { return places(); }
    [[nodiscard]] bool held() const { return items_ != nullptr; }

    // Precondition: held. Of items `capacity()` apart, the place is one.
    [[nodiscard]] item &operator[](std::uint64_t number) { return items_[number & mask_]; }
    [[nodiscard]] const item &operator[](std::uint64_t number) const { return items_[number & mask_]; }

    // Of a ring of one size: its places. Precondition: held.
    [[nodiscard]] item *data() { return items_; }
    [[nodiscard]] const item *data() const { return items_; }

    // Room for the items from `begin` to `end`; those stored stay, new ones are item{}. False: the pool has none.
    [[nodiscard]] bool reserve(std::uint64_t begin, std::uint64_t end)
    {
        return end - begin <= places() || enlarge(begin, end - begin);
    }
    [[nodiscard]] bool hold() { return held() || enlarge(0, smallest()); }
    // Nothing but the items from `begin` to `end` is of use any more.
    void fit(std::uint64_t begin, std::uint64_t end)
    {
        if (pool_ == nullptr || !held())
            return;
        if (begin == end)
            release();
        else if (const std::uint32_t enough = rounded(end - begin); enough < places())
            (void)move(begin, enough);
    }
    void give_back() { fit(0, 0); }
    // Tells the pool what may be asked for.
    void announce() const
    {
        for (std::uint32_t size = smallest(); pool_ != nullptr; size = next_after(size)) {
            pool_->want(bytes_of(size));
            if (size == largest())
                break;
        }
    }

private:
    static constexpr std::uint32_t no_places = 0xFFFFFFFF;

    [[nodiscard]] static constexpr std::uint8_t log2_of(std::size_t size)
    {
        return static_cast<std::uint8_t>(std::bit_width(std::bit_ceil(std::max<std::size_t>(size, 1))) - 1);
    }
    [[nodiscard]] std::uint32_t places() const { return mask_ + 1; }
    [[nodiscard]] std::uint32_t largest() const { return std::uint32_t{1} << most_log2_; }
    [[nodiscard]] std::uint32_t smallest() const { return std::uint32_t{1} << least_log2_; }
    [[nodiscard]] static constexpr std::size_t bytes_of(std::size_t count) { return count * sizeof(item); }
    [[nodiscard]] std::uint32_t next_after(std::uint32_t size) const
    {
        return size >= largest() / 4 ? largest() : size * 4;
    }
    [[nodiscard]] std::uint32_t rounded(std::uint64_t count) const
    {
        std::uint32_t size = smallest();
        while (size < count && size < largest())
            size = next_after(size);
        return size;
    }

    void place(void *block, std::uint32_t size)
    {
        items_ = static_cast<item *>(block);
        mask_ = size - 1;
        std::uninitialized_value_construct_n(items_, size);
    }
    // Apart, for it is rare: what asks for room per packet stays short.
    [[gnu::noinline, gnu::cold]] bool enlarge(std::uint64_t begin, std::uint64_t count)
    {
        return count <= largest() && move(begin, rounded(count));
    }
    bool move(std::uint64_t begin, std::uint32_t size)
    {
        void *block = pool_ == nullptr ? nullptr : pool_->take(bytes_of(size));
        if (block == nullptr)
            return false;
        item *before = items_;
        const std::uint32_t mask = mask_;
        const std::uint32_t held = places();
        place(block, size);
        for (std::uint64_t number = begin; number != begin + std::min(held, size); ++number)
            (*this)[number] = before[number & mask];
        if (before != nullptr)
            pool_->give_back(before, bytes_of(held));
        return true;
    }
    void release()
    {
        if (items_ != nullptr)
            pool_->give_back(items_, bytes_of(places()));
        items_ = nullptr;
        mask_ = no_places;
    }

    slab_pool *pool_;
    item *items_ = nullptr;
    std::uint32_t mask_ = no_places; // places - 1
    std::uint8_t most_log2_;
    std::uint8_t least_log2_;
};

} // namespace mrc::protocol
