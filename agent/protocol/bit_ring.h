// SPDX-License-Identifier: Apache-2.0
// One mark per packet of a sliding window.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "protocol/packet_number.h"

namespace mrc::protocol
{

class bit_ring
{
public:
    // All marks held at a time lie within `window` of each other.
    explicit bit_ring(std::uint32_t window) : words_(std::bit_ceil(std::size_t{window} / word_bits + 2)) {}

    void set(packet_number number) { word(number) |= bit(number); }
    // Was it set? It is not afterwards.
    [[nodiscard]] bool take(packet_number number)
    {
        std::uint64_t &at = word(number);
        const bool was = (at & bit(number)) != 0;
        at &= ~bit(number);
        return was;
    }

private:
    static constexpr packet_number word_bits = 64;

    [[nodiscard]] static std::uint64_t bit(packet_number number) { return std::uint64_t{1} << (number % word_bits); }
    [[nodiscard]] std::uint64_t &word(packet_number number)
    {
        return words_[static_cast<std::size_t>(number / word_bits) & (words_.size() - 1)];
    }

    std::vector<std::uint64_t> words_;
};

} // namespace mrc::protocol
