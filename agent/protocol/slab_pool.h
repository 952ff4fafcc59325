// SPDX-License-Identifier: Apache-2.0
// Memory that queue pairs borrow while they have something under way, and give back when they rest: of thousands of
// connected ones few are busy at a time, and a window's worth of bookkeeping each would be 85 KB (slab_ring.h). One
// thread's queue pairs share a pool.
//
// Blocks come in sizes of four per doubling, so that at most a fifth of a block is unused. take() and give_back() are a
// list's push and pop; the heap is asked by replenish() alone, between rounds of packets:
//
// a size of which fewer than `spare_bytes` are free   gets blocks until they are, as long as
// all blocks together                                 stay within `most_bytes`
//
// Blocks keep their size and return to the heap with the pool. Who finds no block waits (requester) or refuses
// the packet (responder): nobody's packets are lost sight of, for those that are under way have their memory.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace mrc::protocol
{

struct slab_limits {
    std::size_t most_bytes = std::size_t{512} << 20;
    // A round of 256 packets, each of another queue pair, takes as much of the sizes that a responder asks for.
    std::size_t spare_bytes = std::size_t{256} << 10;
};

class slab_pool
{
public:
    static constexpr std::size_t line_bytes = 64; // blocks are made of whole cache lines
    static constexpr unsigned sizes = 64;         // up to 3.5 MB

    explicit slab_pool(const slab_limits &limits = {}) : limits_{limits} {}
    slab_pool(const slab_pool &) = delete;
    slab_pool &operator=(const slab_pool &) = delete;

    // Uninitialised; null: none of this size is free before the next replenish(), if then.
    [[nodiscard]] void *take(std::size_t bytes);
    // What take(bytes) gave.
    void give_back(void *block, std::size_t bytes);
    // Blocks of this size will be asked for.
    void want(std::size_t bytes) { note_shortage(size_index(bytes)); }

    // Allocates. True when there is more to take than before.
    bool replenish();
    // Has take() refused since the last call? Whoever was refused has to be looked at again.
    [[nodiscard]] bool take_refused() { return std::exchange(refused_, false); }

    [[nodiscard]] std::size_t most_bytes() const { return limits_.most_bytes; }
    [[nodiscard]] std::size_t held_bytes() const { return held_bytes_; } // from the heap
    [[nodiscard]] std::size_t lent_bytes() const { return lent_bytes_; } // of these

    [[nodiscard]] static constexpr unsigned size_index(std::size_t bytes)
    {
        const std::size_t lines = (bytes + line_bytes - 1) / line_bytes * line_bytes;
        if (lines <= line_bytes)
            return 0;
        const auto power = static_cast<unsigned>(std::bit_width(lines - 1)) - 1; // 2^power < lines <= 2^(power + 1)
        const std::size_t quarter = std::size_t{1} << (power - 2);
        return (power - first_power) * 4 + static_cast<unsigned>((lines - 4 * quarter + quarter - 1) / quarter);
    }
    [[nodiscard]] static constexpr std::size_t size_at(unsigned index)
    {
        if (index == 0)
            return line_bytes;
        const std::size_t quarter = std::size_t{1} << ((index - 1) / 4 + first_power - 2);
        return (5 + (index - 1) % 4) * quarter;
    }

private:
    static constexpr unsigned first_power = 6; // of line_bytes

    struct free_block {
        free_block *next = nullptr;
    };
    struct size_class {
        free_block *first = nullptr;
        std::size_t count = 0;
    };
    struct slab_delete {
        void operator()(std::byte *slab) const { ::operator delete(slab, std::align_val_t{line_bytes}); }
    };

    [[nodiscard]] std::size_t spare_at(unsigned index) const
    {
        return std::max<std::size_t>(1, limits_.spare_bytes / size_at(index));
    }
    void note_shortage(unsigned index)
    {
        if (free_[index].count < spare_at(index))
            short_ |= std::uint64_t{1} << index;
    }
    bool grow(unsigned index);

    slab_limits limits_;
    std::array<size_class, sizes> free_{};
    std::uint64_t short_ = 0; // sizes of which fewer than the spare are free
    bool refused_ = false;
    std::size_t held_bytes_ = 0;
    std::size_t lent_bytes_ = 0;
    std::vector<std::unique_ptr<std::byte, slab_delete>> slabs_;
};

} // namespace mrc::protocol
