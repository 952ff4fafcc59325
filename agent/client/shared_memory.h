// SPDX-License-Identifier: Apache-2.0
// Memory of this process, as registration sees it: ranges that a file can be handed over for, which the daemon then
// reaches by plain copies, and what the process may do with the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace mrc::client
{

// A range inside memory that mrc_alloc_shared gave, if that is what is mapped there: a program may have put something
// else in its place, as libmrc-heap.so does in a child after fork().
struct shared_range {
    int file = -1; // borrowed
    std::uint64_t offset = 0;
};
[[nodiscard]] std::optional<shared_range> shared_range_at(const void *address, std::uint64_t bytes);

// Whether every page of the range is mapped readable, and writable if asked (verbs: EFAULT).
[[nodiscard]] bool is_accessible(const void *address, std::uint64_t bytes, bool writable);

// Brings the range's pages in, as verbs do when they pin it: the daemon never waits for a disk in its copies then. 0,
// or why it cannot be done (errno); 0, too, on kernels that have no way to (before 5.14).
[[nodiscard]] int bring_in(const void *address, std::uint64_t bytes, bool writable);

} // namespace mrc::client
