// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "datapath/region_table.h"
#include "session/work_ring.h"

namespace mrc::datapath
{

// The requests of a send queue that have left their ring and are not complete: where their bytes are.
class posted_sends
{
public:
    posted_sends(const session::queue_pair_layout &layout, void *rings)
        : layout_{layout}, rings_{rings}, requests_(layout.send_capacity),
          pieces_(std::size_t{layout.send_capacity} * std::max(layout.most_pieces, 1U))
    {
    }

    struct taken {
        std::uint64_t bytes = 0;
        bool valid = false; // as many pieces and inline bytes as the queue pair allows
    };
    // Copies what the client wrote for the request at `position` out of the shared memory.
    [[nodiscard]] taken take(std::uint32_t position, const session::send_entry &entry);
    [[nodiscard]] std::uint64_t id(std::uint64_t position) const { return requests_[slot(position)].id; }
    [[nodiscard]] bool immediate(std::uint64_t position) const
    {
        return (requests_[slot(position)].flags & session::send_immediate) != 0;
    }
    // Bytes [offset, offset + to.size()) of the message in `slot`. False: a local protection error.
    [[nodiscard]] bool read(std::uint32_t slot, std::uint64_t offset, std::span<std::byte> to,
                            region_view &memory) const;

private:
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
        return {&pieces_[std::size_t{slot} * layout_.most_pieces], requests_[slot].pieces};
    }

    session::queue_pair_layout layout_;
    void *rings_;
    std::vector<request> requests_;
    std::vector<session::gather_entry> pieces_;
};

} // namespace mrc::datapath
