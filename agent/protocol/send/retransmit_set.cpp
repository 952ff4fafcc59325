// SPDX-License-Identifier: Apache-2.0
#include "protocol/send/retransmit_set.h"

#include <algorithm>
#include <bit>

namespace mrc::protocol
{

namespace
{

constexpr packet_number word_bits = 64;

std::uint64_t bit(packet_number number)
{
    return std::uint64_t{1} << (number % word_bits);
}

} // namespace

retransmit_set::retransmit_set(std::uint32_t window, slab_pool *pool)
    : words_{std::size_t{window} / static_cast<std::size_t>(word_bits) + 2, pool}
{
}

std::uint64_t &retransmit_set::word(packet_number number)
{
    return words_[static_cast<std::uint64_t>(number / word_bits)];
}

void retransmit_set::insert(packet_number number)
{
    if ((word(number) & bit(number)) != 0)
        return;
    word(number) |= bit(number);
    hint_ = count_ == 0 ? number : std::min(hint_, number);
    ++count_;
}

void retransmit_set::erase(packet_number number)
{
    if ((word(number) & bit(number)) == 0)
        return;
    word(number) &= ~bit(number);
    --count_;
}

packet_number retransmit_set::lowest()
{
    for (;;) {
        const std::uint64_t left = word(hint_) >> (hint_ % word_bits);
        if (left != 0) {
            hint_ += std::countr_zero(left);
            return hint_;
        }
        hint_ = (hint_ / word_bits + 1) * word_bits;
    }
}

} // namespace mrc::protocol
