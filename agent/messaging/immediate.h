// SPDX-License-Identifier: Apache-2.0
// What the 32 bits of a WRITE with immediate say: 4 bits of kind, 28 of value.
#pragma once

#include <cstdint>

namespace mrc::messaging
{

enum class immediate_kind : std::uint8_t {
    message = 1, // the next slot of the ring is filled
    piece,       // a part of a long WRITE, more follows; value: the program's
    arrival,     // the last or only part of a long WRITE; value: the program's
    credit,      // value: how many more messages the far end may send
    hello,       // the far end is connected
    farewell,    // the far end closes and sends nothing more
};

struct immediate {
    static constexpr std::uint32_t value_mask = 0x0FFFFFFF;

    immediate_kind kind{};
    std::uint32_t value = 0;

    [[nodiscard]] constexpr std::uint32_t encode() const
    {
        return static_cast<std::uint32_t>(kind) << 28 | (value & value_mask);
    }
    [[nodiscard]] static constexpr immediate decode(std::uint32_t bits)
    {
        return {.kind = static_cast<immediate_kind>(bits >> 28), .value = bits & value_mask};
    }
    bool operator==(const immediate &) const = default;
};

} // namespace mrc::messaging
