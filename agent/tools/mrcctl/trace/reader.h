// SPDX-License-Identifier: Apache-2.0
// The rows of `trace_rows`, in order, and how many of them were replaced before they could be read.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernel/numbered_row.h"
#include "kernel/unique_fd.h"
#include "mrc/abi/maps.h"
#include "tools/mrcctl/maps.h"

namespace mrc::ctl
{

class trace_reader
{
public:
    // From the next row on. Both are borrowed.
    trace_reader(const mrc_trace_ring &ring, const mrc_trace_row *rows) : ring_{ring}, rows_{rows}, last_{newest()} {}

    // Gives those that are new since the last call, each once, to take(row), and comes to an end while more come.
    template <typename Take>
    void take(const Take &take)
    {
        const std::uint64_t newest_now = newest();
        if (newest_now - last_ > MRC_TRACE_ROWS) {
            lost_ += newest_now - last_ - MRC_TRACE_ROWS;
            last_ = newest_now - MRC_TRACE_ROWS;
        }
        while (last_ != newest_now) {
            ++last_;
            const auto row = kernel::read_row(rows_[(last_ - 1) % MRC_TRACE_ROWS]);
            if (row && row->number == last_)
                take(*row);
            else
                ++lost_;
        }
    }
    [[nodiscard]] std::uint64_t lost() const { return lost_; }

private:
    // const_cast: before C++26 there is no atomic_ref to what is const.
    [[nodiscard]] std::uint64_t newest() const
    {
        return std::atomic_ref{const_cast<__u64 &>(ring_.newest)}.load(std::memory_order_acquire);
    }

    const mrc_trace_ring &ring_;
    const mrc_trace_row *rows_;
    std::uint64_t last_;
    std::uint64_t lost_ = 0;
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
