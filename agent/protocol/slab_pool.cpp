// SPDX-License-Identifier: Apache-2.0
#include "protocol/slab_pool.h"

#include <algorithm>
#include <utility>

namespace mrc::protocol
{

void *slab_pool::take(std::size_t bytes)
{
    const unsigned index = size_index(bytes);
    size_class &of = free_[index];
    note_shortage(index);
    if (of.first == nullptr) {
        refused_ = true;
        return nullptr;
    }
    free_block *block = of.first;
    of.first = block->next;
    --of.count;
    lent_bytes_ += size_at(index);
    return block;
}

void slab_pool::give_back(void *block, std::size_t bytes)
{
    const unsigned index = size_index(bytes);
    size_class &of = free_[index];
    of.first = ::new (block) free_block{of.first};
    ++of.count;
    lent_bytes_ -= size_at(index);
}

bool slab_pool::replenish()
{
    bool grown = false;
    for (std::uint64_t left = std::exchange(short_, 0); left != 0; left &= left - 1)
        grown = grow(static_cast<unsigned>(std::countr_zero(left))) || grown;
    return grown;
}

bool slab_pool::grow(unsigned index)
{
    size_class &of = free_[index];
    const std::size_t spare = spare_at(index);
    const std::size_t size = size_at(index);
    const std::size_t missing = of.count < spare ? spare - of.count : 0;
    const std::size_t blocks = std::min(missing, (limits_.most_bytes - held_bytes_) / size);
    if (blocks == 0)
        return false;
    auto *slab = static_cast<std::byte *>(::operator new(blocks * size, std::align_val_t{line_bytes}));
    slabs_.emplace_back(slab);
    held_bytes_ += blocks * size;
    for (std::size_t at = 0; at < blocks; ++at)
        of.first = ::new (slab + at * size) free_block{of.first};
    of.count += blocks;
    return true;
}

} // namespace mrc::protocol
