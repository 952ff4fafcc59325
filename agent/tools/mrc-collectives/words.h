// SPDX-License-Identifier: Apache-2.0
// What ranks send: 32-bit words that tell whose they are, for whom, where in the buffer they stand, and in which round.
// A word is linear in all of these, so what a reduction has to give is known without adding up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace mrc::collectives
{

using word = std::uint32_t; // sums are modulo 2^32

struct word_run {
    word first = 0; // at the buffer's begin
    [[nodiscard]] word at(std::size_t index) const { return first + static_cast<word>(index) * 0x9E3779B1U; }
};

// What `from` sends to `to`, or with `to` 0 to all.
[[nodiscard]] constexpr word_run sent(std::uint32_t from, std::uint32_t to, std::uint64_t round)
{
    return {from * 0x85EBCA6BU + to * 0xC2B2AE35U + static_cast<word>(round) * 0x27D4EB2FU};
}

void write(std::span<word> buffer, word_run what);

// What is no result of anything, so that a result that has not come is none of the round before.
void spoil(std::span<word> buffer);

struct difference {
    std::size_t index = 0;
    word found = 0;
    word wanted = 0;
};

// The first word that is not what it has to be. `first`: where in the run the buffer begins.
[[nodiscard]] std::optional<difference> compare(std::span<const word> buffer, word_run wanted, std::size_t first = 0);
// The same of the sum of what `ranks` ranks have sent to all.
[[nodiscard]] std::optional<difference> compare_sum(std::span<const word> buffer, std::uint32_t ranks,
                                                    std::uint64_t round, std::size_t first = 0);

} // namespace mrc::collectives
