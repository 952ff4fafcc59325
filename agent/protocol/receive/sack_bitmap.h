// SPDX-License-Identifier: Apache-2.0
// Which packets of a sliding window have arrived: the responder's reliability bitmap, and the requester's merged view
// of it. The edge is the lowest packet that has not arrived; nothing below it is stored, and while nothing above it has
// arrived, nothing at all.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/packet_number.h"
#include "protocol/slab_ring.h"

namespace mrc::protocol
{

class sack_bitmap
{
public:
    // Holds packets from the edge to edge + window - 1.
    explicit sack_bitmap(std::uint32_t window, slab_pool *pool = nullptr);

    [[nodiscard]] packet_number edge() const { return edge_; }
    [[nodiscard]] std::uint32_t window() const { return window_; }
    [[nodiscard]] std::uint32_t above_edge() const { return above_edge_; } // ooo_count
    [[nodiscard]] bool test(packet_number number) const
    {
        if (number < edge_)
            return true;
        return above_edge_ != 0 && number < edge_ + window_ && (word(number) & bit(number)) != 0;
    }
    // Memory to mark packets in; false: there is none.
    [[nodiscard]] bool hold() { return words_.hold(); }
    // Precondition: nothing above the edge is marked, or will be asked for.
    void rest()
    {
        words_.give_back();
        above_edge_ = 0;
    }
    void announce() const { words_.announce(); }
    // Marks a packet of the window; false: it was marked before. The edge stays until advance(). Precondition: held.
    bool mark(packet_number number)
    {
        if (number < edge_ || number >= edge_ + window_ || (word(number) & bit(number)) != 0)
            return false;
        word(number) |= bit(number);
        ++above_edge_;
        return true;
    }
    // Moves the edge over everything marked and returns it.
    packet_number advance();
    // Bit i = packet from + i. Below the edge all are 1, beyond the window all 0.
    [[nodiscard]] std::uint64_t extract(packet_number from) const;

private:
    static constexpr unsigned word_bits = 64;

    [[nodiscard]] static std::uint64_t bit(packet_number number)
    {
        return std::uint64_t{1} << (static_cast<std::uint64_t>(number) % word_bits);
    }
    [[nodiscard]] std::uint64_t &word(packet_number number)
    {
        return words_[static_cast<std::uint64_t>(number) / word_bits];
    }
    [[nodiscard]] std::uint64_t word(packet_number number) const
    {
        return words_[static_cast<std::uint64_t>(number) / word_bits];
    }

    std::uint32_t window_;
    slab_ring<std::uint64_t> words_;
    packet_number edge_ = 0;
    std::uint32_t above_edge_ = 0;
};

} // namespace mrc::protocol
