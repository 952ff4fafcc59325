// SPDX-License-Identifier: Apache-2.0
// The rows of `trace_rows`, in order, and how many of them were replaced before they could be read.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernel/trace_rows.h"
#include "kernel/unique_fd.h"
#include "mrc/abi/maps.h"
#include "tools/mrcctl/maps.h"

namespace mrc::ctl
{

class trace_reader
{
public:
    // From the next row on. Both are borrowed.
    trace_reader(const mrc_trace_ring &ring, const mrc_trace_row *rows)
        : ring_{ring}, rows_{rows}, last_{kernel::newest_traced(ring)}
    {
    }

    // Gives those that are new since the last call, each once and several at a time, to take(number of the first,
    // rows), and comes to an end while more come.
    template <typename Take>
    void take(const Take &take)
    {
        const std::uint64_t newest = kernel::newest_traced(ring_);
        leave_out(kernel::oldest_traced(newest));
        while (last_ < newest) {
            const std::uint64_t first = last_ + 1;
            const std::size_t count = std::min<std::uint64_t>(copies_.size(), newest - last_);
            for (std::size_t i = 0; i < count; ++i)
                copies_[i] = kernel::copy_traced(rows_[kernel::trace_place(first + i)]);
            leave_out(std::min(kernel::oldest_traced(kernel::newest_traced(ring_)), first + count));
            const std::span whole = std::span{copies_}.first(count).subspan(last_ + 1 - first);
            if (!whole.empty())
                take(last_ + 1, whole);
            last_ += whole.size();
        }
    }
    [[nodiscard]] std::uint64_t lost() const { return lost_; }

private:
    // What is older.
    void leave_out(std::uint64_t oldest)
    {
        if (oldest <= last_ + 1)
            return;
        lost_ += oldest - (last_ + 1);
        last_ = oldest - 1;
    }

    const mrc_trace_ring &ring_;
    const mrc_trace_row *rows_;
    std::uint64_t last_;
    std::uint64_t lost_ = 0;
    std::array<mrc_trace_row, 256> copies_{};
};

// The maps of one mrcd. Throws ctl_error when it is of another version, or may not be written.
class trace_maps
{
public:
    explicit trace_maps(const instance &of)
        : ring_{map_of(of, {.name = "trace_ring",
                            .key_size = sizeof(__u32),
                            .row_size = sizeof(mrc_trace_ring),
                            .rows = 1,
                            .mapped = true,
                            .written = true})},
          rows_{map_of(of, {.name = "trace_rows",
                            .key_size = sizeof(__u32),
                            .row_size = sizeof(mrc_trace_row),
                            .rows = MRC_TRACE_ROWS,
                            .mapped = true})}
    {
    }

    [[nodiscard]] mrc_trace_ring &ring() const { return *static_cast<mrc_trace_ring *>(ring_.get()); }
    [[nodiscard]] const mrc_trace_row *rows() const { return static_cast<const mrc_trace_row *>(rows_.get()); }

private:
    static kernel::mapping map_of(const instance &of, map_shape shape)
    {
        const kernel::unique_fd map = open_map(of, shape);
        return map_rows(map, shape);
    }

    kernel::mapping ring_;
    kernel::mapping rows_;
};

} // namespace mrc::ctl
