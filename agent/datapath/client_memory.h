// SPDX-License-Identifier: Apache-2.0
// Memory of a client that the daemon copies to and from, and the ways to reach it:
//
//   shared   a file that both sides map: memcpy under a SIGBUS guard
//   process  any memory of the client's process: a system call for each copy; read_ahead.h and gathered_writes.h make
//            them few
//   own      of the program that the daemon is part of: memcpy. It has to stay mapped for as long as it is registered
//
// The others fail cleanly when the client takes the memory away. One failed copy breaks it for good: a client that
// unmapped registered memory has no use for what arrives later, and each further try could be made slow.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <variant>

#include "datapath/read_ahead.h"
#include "kernel/process_memory.h"
#include "kernel/unique_fd.h"

namespace mrc::datapath
{

// Where in a process a region lies.
struct process_range {
    std::shared_ptr<const kernel::process_memory> process;
    std::uint64_t address = 0;
};

// In this process.
struct own_range {
    std::byte *begin = nullptr;
};

class client_memory
{
public:
    client_memory() = default; // no memory

    // `bytes` of whole mapped pages, of which so many of the first ones do not belong to it.
    client_memory(kernel::mapping pages, std::uint64_t bytes, std::uint64_t lead = 0);
    // [address, address + bytes) of the process. Precondition: the sum does not exceed INT64_MAX.
    client_memory(std::shared_ptr<const kernel::process_memory> process, std::uint64_t address, std::uint64_t bytes);

    client_memory(own_range memory, std::uint64_t bytes) : how_{memory}, bytes_{bytes} {}

    [[nodiscard]] std::uint64_t size() const { return bytes_; }
    [[nodiscard]] bool broken() const { return broken_; }
    // Where it lies, if a copy needs a system call; else null.
    [[nodiscard]] const process_range *process() const { return std::get_if<process_range>(&how_); }

    // Copies between [offset, offset + span's size) and the daemon's memory. Precondition: inside size(). False: the
    // memory is broken, some bytes may have been copied. Neither allocates nor locks.
    [[nodiscard]] bool copy_in(std::uint64_t offset, std::span<const std::byte> from) noexcept;
    [[nodiscard]] bool copy_out(std::uint64_t offset, std::span<std::byte> to) noexcept;
    // The same, where the next `followed_by` bytes will be wanted soon.
    [[nodiscard]] bool copy_out(std::uint64_t offset, std::span<std::byte> to, std::uint64_t followed_by,
                                read_ahead &ahead) noexcept;
    // A copy that somebody else made has failed.
    void give_up() noexcept { broken_ = true; }

private:
    [[nodiscard]] bool settle(bool copied) noexcept;

    std::variant<kernel::mapping, process_range, own_range> how_;
    std::uint64_t lead_ = 0;
    std::uint64_t bytes_ = 0;
    bool broken_ = false;
};

// Checks and maps a range of a file that a client offers: a memfd, on huge pages or not, sealed against shrinking. The
// range may begin anywhere.
[[nodiscard]] std::expected<client_memory, kernel::memory_error> map_shared(const kernel::unique_fd &file,
                                                                            std::uint64_t offset, std::uint64_t bytes);

} // namespace mrc::datapath
