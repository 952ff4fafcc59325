// SPDX-License-Identifier: Apache-2.0
// Copies to and from mappings that a client shares with the daemon. Sealing keeps such a file from shrinking, yet a
// page of it can still fail to appear: a hole punched in huge-page memory while the pool is empty, memory that the
// hardware reports as poisoned, a cgroup at its limit. The kernel then raises SIGBUS in whoever touches it; here that
// ends one copy, not the process.
#pragma once

#include <cstddef>
#include <span>

namespace mrc::kernel
{

// Puts the handler in place, once per process; a SIGBUS that is not a guarded copy's goes to whatever handled it
// before. SIGBUS must not be blocked in threads that copy: the kernel kills a process whose fault it cannot deliver.
void install_sigbus_guard();

// memcpy between memory of the daemon and bytes inside `mapping` (whole pages, mapped now), from `offset` on. False
// when a page of the mapping could not be had; some of the bytes may have been copied. No system call, no allocation: a
// few nanoseconds more than memcpy.
//
// A write reads from its first and last page before it writes there: a read fault maps, for writing too, up to 16 pages
// that are there already (the kernel's fault-around), where a write fault maps one.
[[nodiscard]] bool guarded_write(std::span<std::byte> mapping, std::size_t offset,
                                 std::span<const std::byte> from) noexcept;
[[nodiscard]] bool guarded_read(std::span<const std::byte> mapping, std::size_t offset,
                                std::span<std::byte> to) noexcept;

} // namespace mrc::kernel
