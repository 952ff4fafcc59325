// SPDX-License-Identifier: Apache-2.0
// Map `trace_rows`, which one thread writes over and over, and which other processes read without its knowing. A row
// says nothing of itself but the event: which one it is follows from its place, and whether it is whole from
// `trace_ring`'s count of rows that are written.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernel/numbered_row.h"
#include "kernel/shared_word.h"
#include "mrc/abi/maps.h"
#include "mrc/abi/wire.h"

namespace mrc::kernel
{

// The place of event `number`, 1 for the first ever.
[[nodiscard]] constexpr std::size_t trace_place(std::uint64_t number)
{
    return (number - 1) % MRC_TRACE_ROWS;
}

// The number of the last event.
[[nodiscard]] inline std::uint64_t newest_traced(const mrc_trace_ring &ring)
{
    return shared_word(ring.newest, std::memory_order_acquire);
}

// The oldest event whose row is whole: the one after the newest may be half written.
[[nodiscard]] constexpr std::uint64_t oldest_traced(std::uint64_t newest)
{
    return newest + 2 > MRC_TRACE_ROWS ? newest + 2 - MRC_TRACE_ROWS : 1;
}

// A row as its words. In registers: a row that is written field by field has to reach memory before a word of it can be
// read, for which a processor stands still.
[[nodiscard]] constexpr row_words<mrc_trace_row> trace_words(std::uint64_t time_ns, std::uint64_t value,
                                                             std::uint32_t qpn, std::uint8_t kind,
                                                             std::uint32_t peer_qpn, std::uint8_t reason,
                                                             std::uint32_t psn, std::uint32_t ev)
{
    static_assert(std::endian::native == std::endian::little, "bit fields begin with the lowest bits");
    const auto beside = [](std::uint32_t low, std::uint64_t high) { return (low & MRC_QPN_MASK) | high << 24; };
    return {time_ns, value, beside(qpn, kind) | beside(peer_qpn, reason) << 32,
            (psn & MRC_PSN_MASK) | std::uint64_t{ev} << 32};
}

// Event `number`, the one after the newest, whose place `to` is. Each store releases the count before it: a reader that
// finds a word of this row finds that the row before is written, too.
inline void write_traced(mrc_trace_ring &ring, mrc_trace_row &to, std::uint64_t number,
                         const row_words<mrc_trace_row> &words)
{
#pragma GCC unroll 4
    for (std::size_t word = 0; word < words.size(); ++word)
        row_word(to, word).store(words[word], std::memory_order_release);
    std::atomic_ref{ring.newest}.store(number, std::memory_order_release);
}

// What the row has now. Whole if its event is not older than oldest_traced() of a count that is read afterwards.
[[nodiscard]] inline mrc_trace_row copy_traced(const mrc_trace_row &row)
{
    row_words<mrc_trace_row> copy{};
    for (std::size_t word = 0; word < copy.size(); ++word)
        copy[word] = row_word(row, word).load(std::memory_order_acquire);
    return std::bit_cast<mrc_trace_row>(copy);
}

} // namespace mrc::kernel
