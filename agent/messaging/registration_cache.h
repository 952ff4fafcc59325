// SPDX-License-Identifier: Apache-2.0
// Registered memory, kept for the next transfer from or to the same place: registering costs a call to the daemon.
//
// Whole pages are registered. The daemon reaches a process's own memory by its addresses, at the time of each copy, so
// a region stays right when the program unmaps the pages and maps others there. Not so memory of mrc_alloc_shared(),
// which must be registered apart, before it is freed.
//
// Not thread-safe: its owner has a lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>

namespace mrc::messaging
{

enum class region_use : std::uint8_t {
    source, // WRITEs read it
    target, // the far end writes it, and WRITEs may read it, too
};

// A region as long as somebody holds it; deregistered after the last.
struct registered_range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    region_use use = region_use::source;
    std::uint32_t lkey = 0;
    std::uint32_t rkey = 0;
    std::shared_ptr<void> owner; // what deregisters it
};
using held_range = std::shared_ptr<const registered_range>;

class registration_cache
{
public:
    // Registers [begin, end); sets keys and owner. False, with errno: it could not.
    using register_function = std::function<bool(registered_range &)>;

    static constexpr std::size_t default_limit = 256; // regions that nobody uses at the moment

    explicit registration_cache(register_function registers, std::size_t limit = default_limit);

    // A region that holds [address, address + bytes), bytes above 0. Null with errno when it cannot be registered.
    [[nodiscard]] held_range find(const void *address, std::size_t bytes, region_use use);
    [[nodiscard]] std::size_t size() const { return ranges_.size(); }
    [[nodiscard]] std::uint64_t registrations() const { return registrations_; } // so far

private:
    void drop_oldest();

    register_function registers_;
    std::size_t limit_;
    std::uint64_t registrations_ = 0;
    std::list<held_range> ranges_; // the one used last in front
};

} // namespace mrc::messaging
