// SPDX-License-Identifier: Apache-2.0
// A queue of bounded length in borrowed memory: what does not fit is refused, and the caller counts it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/slab_ring.h"

namespace mrc::protocol
{

template <typename value>
class slab_queue
{
public:
    slab_queue(std::size_t capacity, slab_pool *pool) : items_{first_places, capacity, pool} {}

    [[nodiscard]] bool empty() const { return head_ == tail_; }
    [[nodiscard]] std::size_t size() const { return tail_ - head_; }
    // From the front on; precondition: below size().
    [[nodiscard]] value &operator[](std::size_t position) { return items_[head_ + position]; }
    [[nodiscard]] bool push(const value &item)
    {
        if (!items_.reserve(head_, tail_ + 1))
            return false;
        items_[tail_++] = item;
        return true;
    }
    // Precondition: not empty.
    [[nodiscard]] const value &front() const { return items_[head_]; }
    // Precondition: not empty.
    value pop()
    {
        const value item = items_[head_++];
        if (head_ == tail_) // begin anew: a queue that is mostly empty stays in its first cache lines
            head_ = tail_ = 0;
        return item;
    }

    void rest() { items_.fit(head_, tail_); }
    void announce() const { items_.announce(); }

private:
    static constexpr std::size_t first_places = 8;

    slab_ring<value> items_;
    std::uint64_t head_ = 0;
    std::uint64_t tail_ = 0;
};

} // namespace mrc::protocol
