// SPDX-License-Identifier: Apache-2.0
// The shared memory between an application and the worker: send and receive requests one way, completions the other,
// and the bells that tell the worker where to look.
//
// Each ring has one producer and one consumer. The memory belongs to both sides, so nothing in it is trusted: sizes
// come from the view, indices are masked, and an entry is copied out before it is looked at.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace mrc::session
{

// A piece of a message in the application's memory; as ibv_sge.
struct gather_entry {
    std::uint64_t address = 0;
    std::uint32_t length = 0;
    std::uint32_t lkey = 0;
};

enum send_flags : std::uint32_t {
    send_signaled = 1,
    send_inline = 2,    // the bytes lie in the ring's own memory, first.length of them
    send_solicited = 4, // with an immediate
    send_immediate = 8,
};

struct send_entry {
    std::uint64_t id = 0; // returned in the completion
    std::uint64_t remote_address = 0;
    std::uint32_t rkey = 0;
    std::uint32_t immediate = 0; // as it goes on the wire
    std::uint32_t flags = 0;     // send_flags
    std::uint32_t pieces = 0;    // the first is here, the others in the slot's row of further pieces
    gather_entry first;
    std::uint64_t reserved[2] = {};
};

struct receive_entry {
    std::uint64_t id = 0; // returned in the completion
};

enum completion_flags : std::uint8_t {
    completion_receive = 1, // of a receive request, taken by a message with immediate
    completion_solicited = 2,
    completion_immediate = 4, // of a WRITE with immediate
};

struct completion_entry {
    std::uint64_t id = 0;
    std::uint32_t bytes = 0;
    std::uint32_t immediate = 0; // as it came from the wire
    std::uint32_t qpn = 0;
    std::uint32_t position = 0; // of the request in its queue, counted from 0; all before it in the queue are done, too
    std::uint8_t status = 0;    // protocol::completion_status
    std::uint8_t flags = 0;     // completion_flags
    std::uint16_t resets = 0;   // how often the queue pair had been reset: what is older is not the client's any more
    std::uint8_t reserved[4] = {};
};
static_assert(sizeof(gather_entry) == 16 && sizeof(send_entry) == 64 && sizeof(receive_entry) == 8 &&
              sizeof(completion_entry) == 32);

// Indices run freely; entries are at index % capacity. One cache line each, so the two sides do not share one.
struct ring_header {
    alignas(64) std::uint32_t producer = 0;
    alignas(64) std::uint32_t consumer = 0;
    alignas(64) std::uint32_t armed = 0; // completion rings: which completion signals the channel (arming)
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
    // Entries pushed, or popped, so far; the next one's index.
    [[nodiscard]] std::uint32_t position() const { return next_; }
    [[nodiscard]] std::uint32_t slot(std::uint32_t position) const { return position & (capacity_ - 1); }

    // Consumer: goes on where an earlier view of the same side was.
    void resume(std::uint32_t position) { next_ = position; }

    // Both sides empty the ring while neither uses it; one of them clears the memory.
    void restart(bool clear_memory)
    {
        next_ = 0;
        if (clear_memory)
            *header_ = ring_header{};
    }

    [[nodiscard]] ring_header &header() const { return *header_; }

private:
    static std::uint32_t load(std::uint32_t &word) { return std::atomic_ref{word}.load(std::memory_order_acquire); }

    ring_header *header_ = nullptr;
    Entry *entries_ = nullptr;
    std::uint32_t capacity_ = 0;
    std::uint32_t next_ = 0; // this side's own index; never read back from shared memory
};

// Which completions signal the channel of a completion ring. The consumer arms and then polls once more, the producer
// pushes and then looks: whoever comes second sees the other. One signal disarms. In order: each signals for all that
// the one before does.
enum class arming : std::uint32_t { none, solicited, any };

// Never weakens: armed for any completion, and then for solicited ones by somebody else, a ring signals for any.
inline void arm(ring_header &ring, arming what)
{
    const std::atomic_ref armed{ring.armed};
    std::uint32_t now = armed.load(std::memory_order_relaxed);
    while (now < static_cast<std::uint32_t>(what) &&
           !armed.compare_exchange_weak(now, static_cast<std::uint32_t>(what), std::memory_order_seq_cst))
        continue;
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

// After a push: is a signal due? At most once per arm().
[[nodiscard]] inline bool take_signal(ring_header &ring, bool solicited)
{
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const auto wanted = static_cast<arming>(std::atomic_ref{ring.armed}.load(std::memory_order_relaxed));
    if (wanted == arming::none || (wanted == arming::solicited && !solicited))
        return false;
    std::atomic_ref{ring.armed}.store(static_cast<std::uint32_t>(arming::none), std::memory_order_relaxed);
    return true;
}

// Where the rings of one queue pair lie in its shared memory. Rows of further pieces and of inline bytes belong to the
// send ring's slots; the client leaves a row alone until the request has completed.
struct queue_pair_layout {
    std::uint32_t send_capacity = 0;    // powers of two
    std::uint32_t receive_capacity = 0; // 0: none
    std::uint32_t most_pieces = 1;      // of a message
    std::uint32_t most_inline = 0;      // bytes

    [[nodiscard]] std::size_t bytes() const { return inline_offset(send_capacity); }
    [[nodiscard]] ring_view<send_entry> sends(void *base) const
    {
        return {at<ring_header>(base, 0), at<send_entry>(base, sends_offset()), send_capacity};
    }
    [[nodiscard]] ring_view<receive_entry> receives(void *base) const
    {
        return {at<ring_header>(base, sizeof(ring_header)), at<receive_entry>(base, receives_offset()),
                receive_capacity};
    }
    // most_pieces - 1 entries
    [[nodiscard]] gather_entry *further_pieces(void *base, std::uint32_t slot) const
    {
        return at<gather_entry>(base, pieces_offset() + slot * pieces_row());
    }
    // most_inline bytes
    [[nodiscard]] std::byte *inline_bytes(void *base, std::uint32_t slot) const
    {
        return at<std::byte>(base, inline_offset(slot));
    }

private:
    template <typename T>
    [[nodiscard]] static T *at(void *base, std::size_t offset)
    {
        return reinterpret_cast<T *>(static_cast<std::byte *>(base) + offset);
    }
    [[nodiscard]] static std::size_t sends_offset() { return 2 * sizeof(ring_header); }
    [[nodiscard]] std::size_t receives_offset() const { return sends_offset() + send_capacity * sizeof(send_entry); }
    [[nodiscard]] std::size_t pieces_offset() const
    {
        return receives_offset() + (receive_capacity * sizeof(receive_entry) + 63) / 64 * 64;
    }
    [[nodiscard]] std::size_t pieces_row() const { return (most_pieces - 1) * sizeof(gather_entry); }
    [[nodiscard]] std::size_t inline_offset(std::uint32_t slot) const
    {
        return pieces_offset() + send_capacity * pieces_row() + std::size_t{slot} * most_inline;
    }
};

// A completion ring's shared memory: its header, then the entries.
struct completion_layout {
    std::uint32_t capacity = 0; // a power of two

    [[nodiscard]] std::size_t bytes() const { return sizeof(ring_header) + capacity * sizeof(completion_entry); }
    [[nodiscard]] ring_view<completion_entry> completions(void *base) const
    {
        return {static_cast<ring_header *>(base),
                reinterpret_cast<completion_entry *>(static_cast<std::byte *>(base) + sizeof(ring_header)), capacity};
    }
};

// One bit per queue pair of a client: its rings have something new. Bits of words, and bits of the words that have
// bits.
struct bell_page {
    static constexpr std::uint32_t queue_pairs = 4096;

    alignas(64) std::uint64_t words_rung = 0;
    alignas(64) std::array<std::uint64_t, queue_pairs / 64> rung{};

    // Client. seq_cst: the look at worker_status that follows comes after it.
    void ring(std::uint32_t index)
    {
        std::atomic_ref{rung[index / 64]}.fetch_or(std::uint64_t{1} << (index % 64), std::memory_order_seq_cst);
        std::atomic_ref{words_rung}.fetch_or(std::uint64_t{1} << (index / 64), std::memory_order_seq_cst);
    }
    [[nodiscard]] bool any() { return std::atomic_ref{words_rung}.load(std::memory_order_acquire) != 0; }
    // Worker. Calls `visit(index)` for each bell that rang.
    template <typename Visitor>
    void answer(Visitor visit)
    {
        if (!any())
            return;
        std::uint64_t words = std::atomic_ref{words_rung}.exchange(0, std::memory_order_acq_rel);
        for (; words != 0; words &= words - 1) {
            const auto word = static_cast<std::uint32_t>(std::countr_zero(words));
            std::uint64_t bits = std::atomic_ref{rung[word]}.exchange(0, std::memory_order_acq_rel);
            for (; bits != 0; bits &= bits - 1)
                visit(word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
        }
    }
};

// One page that the worker shares read-only with all clients: does it sleep, so that a doorbell needs its eventfd?
struct worker_status {
    std::uint32_t sleeping = 0;
};

// What the worker and the service tell a client unasked, in a pipe: one record each.
enum class event_kind : std::uint32_t {
    qp_fatal = 1,     // number: QPN
    qp_access_error,  // the peer's requests broke memory protection
    qp_request_error, // the peer's requests were invalid
    qp_drained,       // SQD, and nothing is in flight
    cq_overrun,       // number: the CQ's
    port_up,          // number: 1-based
    port_down,
    device_fatal, // the daemon ends
};
struct event_record {
    event_kind kind = event_kind::device_fatal;
    std::uint32_t number = 0;
};
static_assert(sizeof(event_record) == 8);

} // namespace mrc::session
