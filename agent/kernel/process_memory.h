// SPDX-License-Identifier: Apache-2.0
// The memory of a client's process, through the client's own /proc/self/mem.
//
// The client opens that file and passes the descriptor over its socket. So it carries exactly the authority that the
// client had over itself, whatever the daemon's privileges, and it belongs to one address space: once the client has
// executed another program (set-uid, say) or ended, it leads to memory that no longer exists and not one byte lands
// anywhere. process_vm_writev on a process id would need the daemon's privilege or a thread under the client's real
// user id, and a thread whose real user id is the client's can be killed by it, together with the daemon.
//
// Writes ignore page protection inside the client's own memory, as a NIC with pinned pages does. Pages that a
// userfaultfd holds back fail at once. What a copy can wait for is a page of a file that the client has mapped, for as
// long as its file system takes; so a client's library brings all pages in when it registers them, as verbs pin them.
// One system call per copy, by way of a page of the kernel's. It looks up every page that the bytes touch, and steps
// that do not begin with a page touch two: so long copies are cut where pages begin. On Linux 6.18, 3,072 bytes take
// 1.7 us one by one, and 0.8 us as part of 30 KB (docs/performance.md).
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>

#include "kernel/unique_fd.h"

namespace mrc::kernel
{

// Why a client's memory cannot be registered.
struct memory_error {
    int code = 0;     // errno
    std::string text; // for the client
};

// One per client, shared by its regions; the last one closes the descriptor.
class process_memory
{
public:
    // Takes over /proc/<pid>/mem opened O_RDWR. Refuses anything else, which stays with the caller: another file could
    // block the thread that copies, or mean something else by a write.
    [[nodiscard]] static std::expected<std::shared_ptr<const process_memory>, memory_error> adopt(unique_fd &&file);

    // How many bytes were copied, from the first on: fewer than asked for when one cannot be reached.
    [[nodiscard]] std::size_t write_some(std::uint64_t address, std::span<const std::byte> bytes) const noexcept;
    [[nodiscard]] std::size_t read_some(std::uint64_t address, std::span<std::byte> bytes) const noexcept;
    // All bytes or failure; a failed copy may have moved some of them.
    [[nodiscard]] bool write(std::uint64_t address, std::span<const std::byte> bytes) const noexcept
    {
        return write_some(address, bytes) == bytes.size();
    }
    [[nodiscard]] bool read(std::uint64_t address, std::span<std::byte> bytes) const noexcept
    {
        return read_some(address, bytes) == bytes.size();
    }

private:
    explicit process_memory(unique_fd file) : file_{std::move(file)} {}

    unique_fd file_;
};

} // namespace mrc::kernel
