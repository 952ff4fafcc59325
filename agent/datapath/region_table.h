// SPDX-License-Identifier: Apache-2.0
// Registered memory: who may read and write which bytes under which key. Every packet's key, bounds and access are
// checked here before a byte moves.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <vector>

#include "datapath/unique_fd.h"
#include "protocol/memory_sink.h"

namespace mrc::datapath
{

enum region_access : std::uint32_t {
    access_local_read = 0,
    access_remote_write = 1,
};

// One registered range: application addresses [va, va + memory.size()), mapped into the daemon
// (the mapping's size is the registered length, not rounded to pages).
struct memory_region {
    std::uint32_t key = 0;
    std::uint64_t va = 0;
    std::uint32_t access = access_local_read;
    mapping memory;
};

// A key is 20 random bits over the 12 bits of its row. Owned by the worker.
class region_table final : public protocol::memory_sink
{
public:
    static constexpr std::uint32_t capacity = 4096; // rows, a power of two

    region_table() : rows_(capacity) {}

    // A key whose row is free; nullopt when the table is full. `random` supplies the bits above the row.
    [[nodiscard]] std::optional<std::uint32_t> free_key(std::uint32_t random) const;
    void add(memory_region region);
    // Returns the region so that its memory is unmapped by the caller's thread.
    [[nodiscard]] memory_region remove(std::uint32_t key);

    std::expected<void, protocol::write_refusal> write(std::uint32_t rkey, std::uint64_t va,
                                                       std::span<const std::byte> payload) override;
    // Local bytes to send, or empty when key or bounds do not allow it.
    [[nodiscard]] std::optional<std::span<const std::byte>> read(std::uint32_t lkey, std::uint64_t va,
                                                                 std::uint64_t bytes) const;

private:
    [[nodiscard]] const memory_region *find(std::uint32_t key) const;
    [[nodiscard]] static std::optional<std::uint64_t> offset_in(const memory_region &region, std::uint64_t va,
                                                                std::uint64_t bytes);

    std::vector<memory_region> rows_;
};

} // namespace mrc::datapath
