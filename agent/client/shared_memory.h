// SPDX-License-Identifier: Apache-2.0
// Memory of this process, as registration sees it: ranges that a file can be handed over for, which the daemon then
// reaches by plain copies, and what the process may do with the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernel/unique_fd.h"

namespace mrc::client
{

// Of whom a file is.
struct file_identity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    friend bool operator==(const file_identity &, const file_identity &) = default;
};

// What is mapped in a range, by /proc/self/maps.
struct mapped_range {
    // Every page is (verbs: EFAULT otherwise).
    bool readable = false;
    bool writable = false;
    // All of it is MAP_SHARED of this file, in order, from `offset` on.
    std::optional<file_identity> file;
    std::uint64_t offset = 0;
    bool is_memfd = false;
};
// Nullopt: it cannot be found out; the daemon's copies will tell.
[[nodiscard]] std::optional<mapped_range> mapped_at(const void *address, std::uint64_t bytes);

// A range of a file that can be handed over to the daemon.
struct shared_range {
    int file = -1; // borrowed, or `own`
    std::uint64_t offset = 0;
    kernel::unique_fd own;
};
// A range inside memory that mrc_alloc_shared gave, if that is what is mapped there: a program may have put something
// else in its place, as libmrc-heap.so does in a child after fork(). Or one, mapped for writing, of a memfd of the
// program's own that it has open for writing and has sealed with F_SEAL_SHRINK: the daemon takes no other.
[[nodiscard]] std::optional<shared_range> shared_range_at(const void *address, std::uint64_t bytes,
                                                          const std::optional<mapped_range> &mapped);

// Brings the range's pages in, as verbs do when they pin it: the daemon never waits for a disk in its copies then. 0,
// or why it cannot be done (errno); 0, too, on kernels that have no way to (before 5.14).
[[nodiscard]] int bring_in(const void *address, std::uint64_t bytes, bool writable);

} // namespace mrc::client
