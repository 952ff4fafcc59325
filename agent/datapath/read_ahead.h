// SPDX-License-Identifier: Apache-2.0
// Payload from the memory of clients' processes, read for several packets by one system call.
//
// What is read ahead lasts for one turn of one queue pair: its bytes belong to requests that were posted before they
// are read, so they may not change before these complete, and nobody deregisters memory in the meantime. How far it
// goes is what the queue pair may send in this turn, and the end of the piece that the packet is a part of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kernel/process_memory.h"

namespace mrc::datapath
{

class read_ahead
{
public:
    static constexpr std::size_t most_bytes = 65536;

    // The queue pair may send so many bytes with the next packet and those that follow it.
    void expect(std::uint64_t bytes) { expected_ = bytes; }
    // The turn is over.
    void forget() { held_ = {}; }

    // Reads `to` from `address` on, which so many bytes of the same piece follow. False when one of `to` cannot be
    // reached; those behind it may be out of reach.
    [[nodiscard]] bool read(const kernel::process_memory &process, std::uint64_t address, std::span<std::byte> to,
                            std::uint64_t followed_by) noexcept;

private:
    struct held_bytes {
        const kernel::process_memory *process = nullptr;
        std::uint64_t address = 0;
        std::size_t bytes = 0;
    };

    [[nodiscard]] bool take(const kernel::process_memory &process, std::uint64_t address,
                            std::span<std::byte> to) const noexcept;

    std::uint64_t expected_ = 0;
    held_bytes held_;
    std::unique_ptr<std::byte[]> bytes_ = std::make_unique_for_overwrite<std::byte[]>(most_bytes);
};

} // namespace mrc::datapath
