// SPDX-License-Identifier: Apache-2.0
// The shared-memory rings between an application and the worker: send requests one way, completions the other.
//
// Each ring has one producer and one consumer. The memory belongs to both sides, so nothing in it is trusted: sizes
// come from the view, indices are masked, and an entry is copied out before it is looked at.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mrc::datapath
{

struct send_entry {
    std::uint64_t id = 0; // returned in the completion
    std::uint64_t local_address = 0;
    std::uint64_t length = 0; // bytes, up to 2^31
    std::uint64_t remote_address = 0;
    std::uint32_t lkey = 0;
    std::uint32_t rkey = 0;
    std::uint32_t flags = 0; // send_signaled
    std::uint32_t reserved[5] = {};
};
inline constexpr std::uint32_t send_signaled = 1;

struct completion_entry {
    std::uint64_t id = 0;
    std::uint64_t bytes = 0;
    std::uint32_t status = 0; // protocol::completion_status
    std::uint32_t qpn = 0;
    std::uint64_t reserved = 0;
};
static_assert(sizeof(send_entry) == 64 && sizeof(completion_entry) == 32);

// Indices run freely; entries are at index % capacity. One cache line each, so the two sides do not share one.
struct ring_header {
    alignas(64) std::uint32_t producer = 0;
    alignas(64) std::uint32_t consumer = 0;
    alignas(64) std::uint32_t consumer_waits = 0; // the consumer sleeps on its descriptor
};
static_assert(sizeof(ring_header) == 192);

// One side's view of a ring of Entry in shared memory. `capacity` is a power of two and known to both sides beforehand.
template <typename Entry>
class ring_view
{
public:
    ring_view() = default;
    ring_view(ring_header *header, Entry *entries, std::uint32_t capacity)
        : header_{header}, entries_{entries}, capacity_{capacity}
    {
    }

    // Producer.
    [[nodiscard]] bool full() const { return next_ - load(header_->consumer) >= capacity_; }
    // False when full.
    bool push(const Entry &entry)
    {
        if (full())
            return false;
        entries_[next_ & (capacity_ - 1)] = entry;
        std::atomic_ref{header_->producer}.store(++next_, std::memory_order_release);
        return true;
    }

    // Consumer. Copies the oldest entry out; false when empty.
    bool pop(Entry &entry)
    {
        if (empty())
            return false;
        entry = entries_[next_ & (capacity_ - 1)];
        std::atomic_ref{header_->consumer}.store(++next_, std::memory_order_release);
        return true;
    }
    // Consumer. A producer index that is out of range (a client that lies) reads as empty.
    [[nodiscard]] bool empty() const
    {
        const std::uint32_t waiting = load(header_->producer) - next_;
        return waiting == 0 || waiting > capacity_;
    }
    [[nodiscard]] std::uint32_t capacity() const { return capacity_; }

    // Consumer: announces that it is about to sleep (or no longer does); look at empty() once more afterwards.
    void set_waiting(bool waits)
    {
        std::atomic_ref{header_->consumer_waits}.store(waits ? 1 : 0, std::memory_order_seq_cst);
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    // Producer, after push: does the consumer need its descriptor signalled?
    [[nodiscard]] bool consumer_waits() const
    {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        return std::atomic_ref{header_->consumer_waits}.load(std::memory_order_relaxed) != 0;
    }

private:
    static std::uint32_t load(std::uint32_t &word) { return std::atomic_ref{word}.load(std::memory_order_acquire); }

    ring_header *header_ = nullptr;
    Entry *entries_ = nullptr;
    std::uint32_t capacity_ = 0;
    std::uint32_t next_ = 0; // this side's own index; never read back from shared memory
};

// Where the rings of one queue pair lie in its shared memory.
struct queue_pair_layout {
    std::uint32_t send_capacity = 0;
    std::uint32_t completion_capacity = 0;

    [[nodiscard]] std::size_t bytes() const
    {
        return completions_offset() + completion_capacity * sizeof(completion_entry);
    }
    [[nodiscard]] ring_view<send_entry> sends(void *base) const
    {
        auto *at = static_cast<std::byte *>(base);
        return {reinterpret_cast<ring_header *>(at), reinterpret_cast<send_entry *>(at + sends_offset()),
                send_capacity};
    }
    [[nodiscard]] ring_view<completion_entry> completions(void *base) const
    {
        auto *at = static_cast<std::byte *>(base);
        return {reinterpret_cast<ring_header *>(at + sizeof(ring_header)),
                reinterpret_cast<completion_entry *>(at + completions_offset()), completion_capacity};
    }

private:
    [[nodiscard]] static std::size_t sends_offset() { return 2 * sizeof(ring_header); }
    [[nodiscard]] std::size_t completions_offset() const { return sends_offset() + send_capacity * sizeof(send_entry); }
};

// One page that the worker shares read-only with all clients: does it sleep, so that a doorbell needs its eventfd?
struct worker_status {
    std::uint32_t sleeping = 0;
};

} // namespace mrc::datapath
