// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/region_table.h"
#include "protocol/slab_ring.h"
#include "session/work_ring.h"

namespace mrc::datapath
{

// The requests of a send queue that have left their ring and are not complete: where their bytes are. They lie
// in memory of the worker's pool.
class posted_sends
{
public:
    posted_sends(const session::queue_pair_layout &layout, void *rings, protocol::slab_pool *pool = nullptr)
        : layout_{layout}, rings_{rings}, row_{std::bit_ceil(layout.most_pieces)},
          requests_{first_places, layout.send_capacity, pool},
          pieces_{first_places * row_, std::size_t{layout.send_capacity} * row_, pool}
    {
    }

    // Memory for the request at `position`, while so many before it are not complete; false: the pool has none.
    [[nodiscard]] bool make_room(std::uint32_t position, std::size_t outstanding)
    {
        const std::uint64_t begin = std::uint64_t{position} - outstanding;
        const std::uint64_t end = begin + outstanding + 1;
        return requests_.reserve(begin, end) && pieces_.reserve(begin * row_, end * row_);
    }
    void rest(std::size_t outstanding)
    {
        if (outstanding != 0)
            return;
        requests_.give_back();
        pieces_.give_back();
    }
    void announce() const
    {
        requests_.announce();
        pieces_.announce();
    }

    struct taken {
        std::uint64_t bytes = 0;
        bool valid = false; // as many pieces and inline bytes as the queue pair allows
    };
    // Copies what the client wrote for the request at `position` out of the shared memory. Precondition: it has room.
    [[nodiscard]] taken take(std::uint32_t position, const session::send_entry &entry);
    [[nodiscard]] std::uint64_t id(std::uint64_t position) const { return requests_[slot(position)].id; }
    [[nodiscard]] bool immediate(std::uint64_t position) const
    {
        return (requests_[slot(position)].flags & session::send_immediate) != 0;
    }
    // Bytes [offset, offset + to.size()) of the message in `slot`, of which more may be read ahead. False: a local
    // protection error.
    [[nodiscard]] bool read(std::uint32_t slot, std::uint64_t offset, std::span<std::byte> to, region_view &memory,
                            read_ahead &ahead) const;

private:
    static constexpr std::size_t first_places = 4;

    struct request {
        std::uint64_t id = 0;
        std::uint32_t flags = 0;
        std::uint32_t pieces = 0;
    };

    [[nodiscard]] std::uint32_t slot(std::uint64_t position) const
    {
        return static_cast<std::uint32_t>(position) & (layout_.send_capacity - 1);
    }
    [[nodiscard]] std::span<const session::gather_entry> pieces_of(std::uint32_t slot) const
    {
        return {&pieces_[std::uint64_t{slot} * row_], requests_[slot].pieces};
    }

    session::queue_pair_layout layout_;
    void *rings_;
    std::uint32_t row_; // pieces kept per request: a power of two
    protocol::slab_ring<request> requests_;
    protocol::slab_ring<session::gather_entry> pieces_;
};

} // namespace mrc::datapath
