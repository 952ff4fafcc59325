// SPDX-License-Identifier: Apache-2.0
// One mark per packet of a sliding window.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/packet_number.h"
#include "protocol/slab_ring.h"

namespace mrc::protocol
{

class bit_ring
{
public:
    // All marks held at a time lie within `window` of each other.
    explicit bit_ring(std::uint32_t window, slab_pool *pool = nullptr)
        : words_{std::size_t{window} / word_bits + 2, pool}
    {
    }

    [[nodiscard]] bool hold() { return words_.hold(); }
    [[nodiscard]] bool held() const { return words_.held(); }
    // Precondition: no mark is held.
    void rest() { words_.give_back(); }
    void announce() const { words_.announce(); }

    // Precondition, as of take(): held.
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
    static constexpr unsigned word_bits = 64;

    [[nodiscard]] static std::uint64_t bit(packet_number number)
    {
        return std::uint64_t{1} << (static_cast<std::uint64_t>(number) % word_bits);
    }
    [[nodiscard]] std::uint64_t &word(packet_number number)
    {
        return words_[static_cast<std::uint64_t>(number) / word_bits];
    }

    slab_ring<std::uint64_t> words_;
};

} // namespace mrc::protocol
