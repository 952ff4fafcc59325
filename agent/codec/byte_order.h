// SPDX-License-Identifier: Apache-2.0
// Integers in wire order, and unaligned loads and stores of them and of the wire structs.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>

namespace mrc::codec
{

// Both are their own inverse.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T big_endian(T value)
{
    return std::endian::native == std::endian::big ? value : std::byteswap(value);
}

template <std::unsigned_integral T>
[[nodiscard]] constexpr T little_endian(T value)
{
    return std::endian::native == std::endian::little ? value : std::byteswap(value);
}

template <typename T>
[[nodiscard]] T load(const std::byte *from)
{
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <typename T>
void store(std::byte *to, const T &value)
{
    std::memcpy(to, &value, sizeof value);
}

template <std::unsigned_integral T>
[[nodiscard]] T load_be(const std::byte *from)
{
    return big_endian(load<T>(from));
}

template <std::unsigned_integral T>
void store_be(std::byte *to, T value)
{
    store(to, big_endian(value));
}

} // namespace mrc::codec
