// SPDX-License-Identifier: Apache-2.0
// Registered memory: who may read and write which bytes under which key. Every packet's key, bounds, access and
// protection domain are checked here before a byte moves.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <vector>

#include "datapath/client_memory.h"
#include "datapath/gathered_writes.h"
#include "datapath/read_ahead.h"
#include "protocol/memory_sink.h"
#include "session/session_protocol.h"

namespace mrc::datapath
{

// Whose a region or a queue pair is. A key works only for queue pairs of the very same domain.
struct protection_domain {
    std::uint32_t owner = 0;  // client
    std::uint32_t number = 0; // of the domain, within the client
    friend bool operator==(const protection_domain &, const protection_domain &) = default;
};

// One registered range: what peers and work requests call [va, va + memory.size()), and where its bytes are.
struct memory_region {
    std::uint32_t key = 0; // given by region_table::add
    std::uint32_t access = session::access_local_read;
    protection_domain domain;
    std::uint64_t va = 0;
    client_memory memory;
};

// A key is 16 bits that change with every use of a row over the 16 bits of the row's number. Rows are reused in the
// order in which they fell free, so that a key that is still on its way meets a free row, not a new region. Owned by
// the worker.
class region_table
{
public:
    static constexpr std::uint32_t capacity = 65536; // rows

    region_table();

    [[nodiscard]] std::uint32_t size() const { return capacity - free_count_; } // regions

    // Takes the region over and gives it its key; nullopt when the table is full: the region stays with the caller,
    // whose thread is to unmap it. `random` supplies the bits above the row.
    [[nodiscard]] std::optional<std::uint32_t> add(memory_region &&region, std::uint32_t random);
    // Returns the region, so that its memory is unmapped by the caller's thread; one without a key when there is none.
    // From then on every packet for it is refused.
    [[nodiscard]] memory_region remove(std::uint32_t key);

    // As protocol::memory_sink, for queue pairs of `domain`. Memory that failed once counts as no longer registered.
    [[nodiscard]] std::expected<void, protocol::write_refusal>
    write(const protection_domain &domain, std::uint32_t rkey, std::uint64_t va, std::span<const std::byte> payload);
    // The same for a packet. Payload that takes a system call to write is held: gathered().
    [[nodiscard]] std::expected<protocol::placement, protocol::write_refusal>
    place(const protection_domain &domain, std::uint32_t rkey, std::uint64_t va, std::span<const std::byte> payload,
          const held_packet &packet);
    [[nodiscard]] gathered_writes &gathered() { return gathered_; }
    // Copies local bytes to send. False: a local protection error.
    [[nodiscard]] bool read(const protection_domain &domain, std::uint32_t lkey, std::uint64_t va,
                            std::span<std::byte> to);
    // The same, where the next `followed_by` bytes will be wanted soon, as far as they belong to the region.
    [[nodiscard]] bool read(const protection_domain &domain, std::uint32_t lkey, std::uint64_t va,
                            std::span<std::byte> to, std::uint64_t followed_by, read_ahead &ahead);

private:
    // Bytes of a region that may be read, or written.
    struct found_bytes {
        client_memory *memory = nullptr;
        std::uint64_t offset = 0;
    };

    struct row {
        memory_region region;
        std::uint16_t last_tag = 0; // upper half of the row's latest key
    };

    [[nodiscard]] memory_region *find(const protection_domain &domain, std::uint32_t key);
    [[nodiscard]] std::optional<found_bytes> find_source(const protection_domain &domain, std::uint32_t lkey,
                                                         std::uint64_t va, std::uint64_t bytes);
    [[nodiscard]] std::expected<found_bytes, protocol::write_refusal>
    find_target(const protection_domain &domain, std::uint32_t rkey, std::uint64_t va, std::uint64_t bytes);

    std::vector<row> rows_;
    std::vector<std::uint16_t> free_rows_; // a ring: free_rows_[first_free_ % capacity] is the next to be used
    std::uint32_t first_free_ = 0;
    std::uint32_t free_count_ = capacity;
    gathered_writes gathered_;
};

// The table as one queue pair may see it.
class region_view final : public protocol::memory_sink
{
public:
    // `takes_writes`: whether the queue pair, `owner`, accepts remote writes at all.
    region_view(region_table &table, const protection_domain &domain, bool takes_writes = true,
                protocol::qpn owner = {})
        : table_{table}, domain_{domain}, takes_writes_{takes_writes}, owner_{owner}
    {
    }

    std::expected<void, protocol::write_refusal> write(std::uint32_t rkey, std::uint64_t va,
                                                       std::span<const std::byte> payload) override
    {
        if (!takes_writes_ && !payload.empty())
            return std::unexpected{protocol::write_refusal::no_permission};
        return table_.write(domain_, rkey, va, payload);
    }
    std::expected<protocol::placement, protocol::write_refusal> place(protocol::packet_number number,
                                                                      std::uint32_t rkey, std::uint64_t va,
                                                                      std::span<const std::byte> payload) override
    {
        if (!takes_writes_ && !payload.empty())
            return std::unexpected{protocol::write_refusal::no_permission};
        return table_.place(domain_, rkey, va, payload, {.owner = owner_, .number = number});
    }
    [[nodiscard]] bool read(std::uint32_t lkey, std::uint64_t va, std::span<std::byte> to)
    {
        return table_.read(domain_, lkey, va, to);
    }
    [[nodiscard]] bool read(std::uint32_t lkey, std::uint64_t va, std::span<std::byte> to, std::uint64_t followed_by,
                            read_ahead &ahead)
    {
        return table_.read(domain_, lkey, va, to, followed_by, ahead);
    }

private:
    region_table &table_;
    protection_domain domain_;
    bool takes_writes_;
    protocol::qpn owner_;
};

} // namespace mrc::datapath
