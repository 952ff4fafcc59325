// SPDX-License-Identifier: Apache-2.0
// The simulator's clockwork: events in order of time, and of scheduling where times are equal, so that a run depends
// on nothing but its seed.
//
// Nearly all events are due within the delay of a link. A thousand hosts have hundreds of thousands of them waiting,
// more than the caches hold, so that a heap of them costs a miss a level. Hence only those of the slot of time that is
// being run are in order:
//
//     now_     heap    those of this slot, and of earlier ones
//     slots_   lists   a list for each of the slots that follow
//     later_   heap    those beyond, such as timers
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/event_heap.h"

namespace mrc::sim
{

class event_queue
{
public:
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] const event &next() const { return now_.first(); }
    [[nodiscard]] picoseconds next_at() const { return next().at; }
    [[nodiscard]] std::uint64_t scheduled() const { return order_; }

    void push(picoseconds at, sim_event_kind kind, std::uint32_t a, std::uint32_t b)
    {
        put({at, order_++ << 8 | static_cast<std::uint64_t>(kind), a, b});
        ++size_;
        if (now_.empty())
            advance();
    }

    event pop()
    {
        const event first = now_.pop();
        if (--size_ != 0 && now_.empty())
            advance();
        return first;
    }

private:
    static constexpr int slot_bits = 10;           // a slot is 1024 ps, …
    static constexpr std::int64_t slots = 1 << 12; // … all of them 4.2 us: longer than a link and a packet take

    // Events that an empty list keeps memory for: what all lists have had at most, together, would be a hundred MB.
    static constexpr std::size_t kept_capacity = 32;

    static std::int64_t slot_of(picoseconds at) { return at >> slot_bits; }
    static std::size_t row(std::int64_t slot) { return static_cast<std::size_t>(slot & (slots - 1)); }

    void put(const event &each)
    {
        const std::int64_t slot = slot_of(each.at);
        if (slot <= slot_) {
            now_.push(each);
        } else if (slot < slot_ + slots) {
            slots_[row(slot)].push_back(each);
            filled_[row(slot) / 64] |= std::uint64_t{1} << row(slot) % 64;
        } else {
            later_.push(each);
        }
    }

    // To the next slot that has events: now_ is empty, others are not.
    void advance()
    {
        const std::int64_t ahead = next_filled();
        slot_ = ahead < slots ? slot_ + ahead : slot_of(later_.first().at);
        filled_[row(slot_) / 64] &= ~(std::uint64_t{1} << row(slot_) % 64);
        std::vector<event> &list = slots_[row(slot_)];
        now_.exchange(list);
        if (list.capacity() > kept_capacity)
            std::vector<event>{}.swap(list);
        while (!later_.empty() && slot_of(later_.first().at) < slot_ + slots)
            put(later_.pop());
    }

    // Slots from slot_ to the next that has events; `slots` when none has.
    [[nodiscard]] std::int64_t next_filled() const
    {
        std::int64_t ahead = 1;
        while (ahead < slots) {
            const std::size_t at = row(slot_ + ahead);
            const std::uint64_t rest = filled_[at / 64] >> at % 64;
            if (rest != 0)
                return std::min<std::int64_t>(ahead + std::countr_zero(rest), slots);
            ahead += static_cast<std::int64_t>(64 - at % 64);
        }
        return slots;
    }

    event_heap now_;
    event_heap later_;
    std::vector<std::vector<event>> slots_{static_cast<std::size_t>(slots)};
    std::array<std::uint64_t, slots / 64> filled_{}; // a bit for each of slots_ that has events
    std::int64_t slot_ = 0;                          // whose events now_ has
    std::uint64_t order_ = 0;
    std::size_t size_ = 0;
};

} // namespace mrc::sim
