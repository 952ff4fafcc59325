// SPDX-License-Identifier: Apache-2.0
// Tables with which raw_steer has the ICRC of eight bytes at a time ("slicing by 8", Kounavis and Berry 2005).
#pragma once

#include <cstddef>
#include <cstdint>

namespace mrc::raw
{

// `tables[n][byte]`: what a byte adds to the CRC-32 (reflected polynomial 0xEDB88320) when n more follow it.
template <typename Word>
void fill_crc_tables(Word (&tables)[8][256])
{
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit)
            crc = crc >> 1 ^ (0xEDB88320U & (0U - (crc & 1U)));
        tables[0][byte] = crc;
    }
    for (std::size_t n = 1; n < 8; ++n)
        for (std::size_t byte = 0; byte < 256; ++byte)
            tables[n][byte] = tables[n - 1][byte] >> 8 ^ tables[0][tables[n - 1][byte] & 0xFF];
}

} // namespace mrc::raw
