// SPDX-License-Identifier: Apache-2.0
// The copies in `capture_slots`, taken in order, and the row that says which are made.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernel/shared_word.h"
#include "kernel/unique_fd.h"
#include "mrc/abi/capture.h"
#include "mrc/abi/maps.h"
#include "tools/mrcctl/maps.h"

namespace mrc::ctl
{

// Gives the slots that are whole to `take(const mrc_capture_slot &)`, each once at most, so that it comes to an end
// while packets go on; each is free afterwards. One reader.
template <typename Take>
void take_copies(mrc_capture_ring &ring, const mrc_capture_slot *slots, Take take)
{
    const std::atomic_ref consumer{ring.consumer};
    const std::uint64_t first = consumer.load(std::memory_order_relaxed);
    for (std::uint64_t taken = first; taken != first + MRC_CAPTURE_SLOTS; ++taken) {
        const mrc_capture_slot &slot = slots[mrc_capture_row(taken + 1)];
        if (kernel::shared_word(slot.number, std::memory_order_acquire) != taken + 1)
            return;
        take(slot);
        consumer.store(taken + 1, std::memory_order_release);
    }
}

// The maps of one mrcd. Throws ctl_error when it is of another version, or may not be written.
class capture_maps
{
public:
    explicit capture_maps(const instance &of)
        : ring_{rows_of<mrc_capture_ring>(of, "capture_ring", 1, true)},
          slots_{rows_of<mrc_capture_slot>(of, "capture_slots", MRC_CAPTURE_SLOTS, false)}
    {
    }

    [[nodiscard]] mrc_capture_ring &ring() const { return *static_cast<mrc_capture_ring *>(ring_.get()); }
    [[nodiscard]] const mrc_capture_slot *slots() const { return static_cast<const mrc_capture_slot *>(slots_.get()); }

private:
    template <typename Row>
    static kernel::mapping rows_of(const instance &of, const char *name, std::uint32_t rows, bool written)
    {
        map_shape shape{.name = name,
                        .key_size = sizeof(__u32),
                        .row_size = sizeof(Row),
                        .rows = rows,
                        .mapped = true,
                        .written = written};
        return map_rows(open_map(of, shape), shape);
    }

    kernel::mapping ring_;
    kernel::mapping slots_;
};

} // namespace mrc::ctl
