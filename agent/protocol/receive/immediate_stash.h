// SPDX-License-Identifier: Apache-2.0
// Immediates that have arrived and wait for everything that was sent before them (protocol.md §2.2). METH.rqmsn
// counts the messages with immediate, so it gives each its place, however late its siblings are.
//
// When a message's last packet arrives, its immediate waits in its rqmsn's place; a place taken already (two messages
// with one rqmsn) or beyond max_wimm (more than was negotiated) is an invalid request. When the edge passes that
// packet, the immediate is delivered, and the next rqmsn is awaited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "protocol/packet_number.h"
#include "protocol/slab_ring.h"

namespace mrc::protocol
{

struct stashed_immediate {
    packet_number number = -1; // the message's last packet; -1: the place is empty
    std::uint32_t immediate = 0;
    std::uint32_t message_bytes = 0;
    bool solicited = false;
};

class immediate_stash
{
public:
    explicit immediate_stash(std::uint16_t max_wimm, slab_pool *pool = nullptr)
        : max_wimm_{max_wimm}, places_{first_places, max_wimm, pool}
    {
    }

    // Immediates that are delivered before this one.
    [[nodiscard]] std::size_t ahead(std::uint16_t rqmsn) const
    {
        return static_cast<std::uint16_t>(rqmsn - static_cast<std::uint16_t>(delivered_));
    }
    [[nodiscard]] bool is_allowed(std::uint16_t rqmsn) const { return ahead(rqmsn) < max_wimm_; }
    // Memory for the immediate of message `rqmsn`, if the rules allow it one; false: there is none.
    [[nodiscard]] bool make_room(std::uint16_t rqmsn)
    {
        return !is_allowed(rqmsn) || places_.reserve(delivered_, delivered_ + ahead(rqmsn) + 1);
    }
    void rest()
    {
        if (waiting_ == 0)
            places_.give_back();
    }
    void announce() const { places_.announce(); }

    // False when the sender broke the rules. Precondition: make_room(rqmsn).
    [[nodiscard]] bool put(std::uint16_t rqmsn, const stashed_immediate &item)
    {
        if (!is_allowed(rqmsn))
            return false;
        stashed_immediate &place = places_[delivered_ + ahead(rqmsn)];
        if (place.number >= 0)
            return false;
        place = item;
        ++waiting_;
        return true;
    }
    // The immediate of the message whose last packet is `number`, if it carries the next one.
    [[nodiscard]] std::optional<stashed_immediate> take(packet_number number)
    {
        if (waiting_ == 0)
            return std::nullopt;
        stashed_immediate &place = places_[delivered_];
        if (place.number != number)
            return std::nullopt;
        const stashed_immediate taken = place;
        place.number = -1;
        --waiting_;
        ++delivered_;
        return taken;
    }

    [[nodiscard]] std::size_t waiting() const { return waiting_; }

private:
    static constexpr std::size_t first_places = 4;

    std::uint16_t max_wimm_;
    slab_ring<stashed_immediate> places_; // by the count of messages with immediate
    std::size_t waiting_ = 0;
    std::uint64_t delivered_ = 0;
};

} // namespace mrc::protocol
