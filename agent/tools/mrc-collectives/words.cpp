// SPDX-License-Identifier: Apache-2.0
#include "tools/mrc-collectives/words.h"

#include <algorithm>

namespace mrc::collectives
{

namespace
{

template <typename F>
std::optional<difference> first_difference(std::span<const word> buffer, F wanted)
{
    word differing = 0; // of all, which needs no branch for each
    for (std::size_t i = 0; i < buffer.size(); ++i)
        differing |= buffer[i] ^ wanted(i);
    if (differing == 0)
        return std::nullopt;
    for (std::size_t i = 0; i < buffer.size(); ++i)
        if (buffer[i] != wanted(i))
            return difference{.index = i, .found = buffer[i], .wanted = wanted(i)};
    return std::nullopt;
}

} // namespace

void write(std::span<word> buffer, word_run what)
{
    for (std::size_t i = 0; i < buffer.size(); ++i)
        buffer[i] = what.at(i);
}

void spoil(std::span<word> buffer)
{
    std::ranges::fill(buffer, 0x5A5A5A5AU);
}

std::optional<difference> compare(std::span<const word> buffer, word_run wanted, std::size_t first)
{
    return first_difference(buffer, [&](std::size_t i) { return wanted.at(first + i); });
}

std::optional<difference> compare_sum(std::span<const word> buffer, std::uint32_t ranks, std::uint64_t round,
                                      std::size_t first)
{
    word begins = 0;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        begins += sent(rank, 0, round).first;
    const word_run one{0};
    return first_difference(buffer, [&](std::size_t i) { return begins + ranks * one.at(first + i); });
}

} // namespace mrc::collectives
