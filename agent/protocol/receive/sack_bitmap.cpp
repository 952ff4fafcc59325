// SPDX-License-Identifier: Apache-2.0
#include "protocol/receive/sack_bitmap.h"

#include <bit>

namespace mrc::protocol
{

// Words for a window that begins anywhere in a word, and for the 64 bits that extract() reads beyond its end.
sack_bitmap::sack_bitmap(std::uint32_t window, slab_pool *pool)
    : window_{window}, words_{std::size_t{window} / word_bits + 3, pool}
{
}

packet_number sack_bitmap::advance()
{
    while (above_edge_ != 0) {
        const auto offset = static_cast<unsigned>(static_cast<std::uint64_t>(edge_) % word_bits);
        std::uint64_t &current = word(edge_);
        const auto ones = static_cast<unsigned>(std::countr_one(current >> offset));
        if (ones == 0)
            return edge_;
        // The bits leave the window and must read 0 when the ring comes round.
        const std::uint64_t passed = ones == word_bits ? ~std::uint64_t{0} : (std::uint64_t{1} << ones) - 1;
        current &= ~(passed << offset);
        edge_ += ones;
        above_edge_ -= ones;
        if (offset + ones < word_bits)
            break;
    }
    return edge_;
}

std::uint64_t sack_bitmap::extract(packet_number from) const
{
    if (from >= edge_ + window_)
        return 0;
    if (from + word_bits <= edge_)
        return ~std::uint64_t{0};
    const packet_number low = from < edge_ ? edge_ : from;
    const auto below = static_cast<unsigned>(low - from);
    const std::uint64_t passed = (std::uint64_t{1} << below) - 1;
    if (above_edge_ == 0)
        return passed;
    const auto offset = static_cast<unsigned>(static_cast<std::uint64_t>(low) % word_bits);
    std::uint64_t bits = word(low) >> offset;
    if (offset != 0)
        bits |= word(low + word_bits) << (word_bits - offset);
    // The ring has room for the window and a word: what lies beyond the window was cleared when the edge passed.
    return bits << below | passed;
}

} // namespace mrc::protocol
