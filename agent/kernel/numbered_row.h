// SPDX-License-Identifier: Apache-2.0
// Rows of a map that one thread writes over and over, and that other processes read without its knowing: each has a
// number, which is 0 while it is written. A reader has the row as it was if it finds the same number before and after.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace mrc::kernel
{

// Word by word, as other processes may read or write meanwhile: a reader that finds any word of the new row finds the
// number that was stored before it, too.
template <typename Row>
using row_words = std::array<std::uint64_t, sizeof(Row) / sizeof(std::uint64_t)>;

// const_cast: before C++26 there is no atomic_ref to what is const. Only read where it is.
template <typename Row>
[[nodiscard]] std::atomic_ref<std::uint64_t> row_word(const Row &row, std::size_t word)
{
    return std::atomic_ref{reinterpret_cast<std::uint64_t *>(const_cast<Row *>(&row))[word]};
}

// The row as it was at one moment; nothing while it is being written, and of one that has not been used.
template <typename Row>
[[nodiscard]] std::optional<Row> read_row(const Row &row)
{
    static_assert(offsetof(Row, number) == 0, "the first word");
    row_words<Row> copy{};
    for (std::size_t word = 0; word < copy.size(); ++word)
        copy[word] = row_word(row, word).load(std::memory_order_acquire);
    if (copy[0] == 0 || row_word(row, 0).load(std::memory_order_relaxed) != copy[0])
        return std::nullopt;
    return std::bit_cast<Row>(copy);
}

template <typename Row>
void write_row(Row &row, const Row &from)
{
    static_assert(offsetof(Row, number) == 0, "the first word");
    const auto words = std::bit_cast<row_words<Row>>(from);
    row_word(row, 0).store(0, std::memory_order_relaxed);
    for (std::size_t word = 1; word < words.size(); ++word)
        row_word(row, word).store(words[word], std::memory_order_release);
    row_word(row, 0).store(from.number, std::memory_order_release);
}

} // namespace mrc::kernel
