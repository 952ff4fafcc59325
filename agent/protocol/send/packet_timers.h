// SPDX-License-Identifier: Apache-2.0
// Per-packet time-outs of one QP in O(1): one list per number of doublings, each in order of arming, so that the list's
// head is due first. The time-out is applied when asked, so a new RTT estimate holds for packets already in flight.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "protocol/packet_number.h"
#include "protocol/send/retry_policy.h"
#include "protocol/slab_ring.h"
#include "protocol/types.h"

namespace mrc::protocol
{

class packet_timers
{
public:
    explicit packet_timers(std::size_t capacity, slab_pool *pool = nullptr) : links_{first_places, capacity, pool} {}

    void arm(std::size_t index, unsigned level, instant now)
    {
        disarm(index);
        list &members = lists_[level];
        const auto self = static_cast<std::uint16_t>(index);
        links_[index] = {now, members.tail, none, static_cast<std::uint8_t>(level), true};
        if (members.tail == none)
            members.head = self;
        else
            links_[members.tail].next = self;
        members.tail = self;
        levels_ |= 1u << level;
    }
    void disarm(std::size_t index)
    {
        link &self = links_[index];
        if (!self.armed)
            return;
        list &members = lists_[self.level];
        (self.previous == none ? members.head : links_[self.previous].next) = self.next;
        (self.next == none ? members.tail : links_[self.next].previous) = self.previous;
        self.armed = false;
        if (members.head == none)
            levels_ &= ~(1u << self.level);
    }
    [[nodiscard]] bool empty() const { return levels_ == 0; }
    // As flight's; only packets from `edge` on are armed.
    [[nodiscard]] bool make_room(packet_number edge, packet_number next)
    {
        return links_.reserve(static_cast<std::uint64_t>(edge), static_cast<std::uint64_t>(next) + 1);
    }
    [[nodiscard]] std::size_t room() const { return links_.capacity(); }
    // Precondition: empty.
    void rest() { links_.give_back(); }
    void announce() const { links_.announce(); }

    // Waits count from `floor` for packets armed before it: time in which nobody could have answered does not count.
    // The floor moves at most once in so many time-outs; waits that are as long are patient enough without it, and
    // would never end with it.
    static constexpr int floor_spacing = 4;
    [[nodiscard]] instant next_deadline(const retry_policy &policy, duration rto, instant floor) const;
    // Disarms and returns one packet that is due.
    [[nodiscard]] std::optional<std::size_t> expire(const retry_policy &policy, duration rto, instant floor,
                                                    instant now);

private:
    static constexpr std::size_t first_places = 64;
    static constexpr std::uint16_t none = 0xFFFF; // windows end at 32,640 packets
    struct link {
        instant armed_at;
        std::uint16_t previous = none;
        std::uint16_t next = none;
        std::uint8_t level = 0;
        bool armed = false;
    };
    struct list {
        std::uint16_t head = none;
        std::uint16_t tail = none;
    };

    [[nodiscard]] instant deadline(unsigned level, const retry_policy &policy, duration rto, instant floor) const;

    slab_ring<link> links_; // by index
    std::array<list, retry_policy::max_level + 1> lists_;
    std::uint32_t levels_ = 0; // bit l: list l is not empty
};

} // namespace mrc::protocol
