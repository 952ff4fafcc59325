// SPDX-License-Identifier: Apache-2.0
// A queue of fixed capacity without allocation: what does not fit is refused, and the caller counts it.
#pragma once

#include <array>
#include <cstddef>

namespace mrc::protocol
{

template <typename value, std::size_t capacity>
class bounded_ring
{
public:
    [[nodiscard]] bool empty() const { return head_ == tail_; }
    [[nodiscard]] std::size_t size() const { return tail_ - head_; }
    // From the front on; precondition: below size().
    [[nodiscard]] value &operator[](std::size_t position) { return items_[(head_ + position) % capacity]; }
    [[nodiscard]] bool push(const value &item)
    {
        if (tail_ - head_ == capacity)
            return false;
        items_[tail_++ % capacity] = item;
        return true;
    }
    // Precondition: not empty.
    [[nodiscard]] const value &front() const { return items_[head_ % capacity]; }
    // Precondition: not empty.
    value pop()
    {
        const value item = items_[head_++ % capacity];
        if (head_ == tail_) // begin anew: a ring that is mostly empty stays in its first cache lines
            clear();
        return item;
    }
    void clear() { head_ = tail_ = 0; }

private:
    std::array<value, capacity> items_{};
    std::size_t head_ = 0;
    std::size_t tail_ = 0;
};

} // namespace mrc::protocol
