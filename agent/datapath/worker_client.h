// SPDX-License-Identifier: Apache-2.0
// What a client has in the worker: completion rings, queue pairs, bells. Built by the service thread, then handed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "datapath/probe_targets.h"
#include "datapath/region_table.h"
#include "kernel/unique_fd.h"
#include "protocol/congestion/congestion_control.h"
#include "protocol/queue_pair.h"
#include "session/work_ring.h"

namespace mrc::datapath
{

// The daemon's end of a pipe whose other end a client holds. A pipe, not an eventfd: each end has its own flags, so no
// client can make a write block. What does not fit is lost: the client does not read.
class client_pipe
{
public:
    explicit client_pipe(kernel::unique_fd end) : end_{std::move(end)} {}
    void tell(const session::event_record &event) const
    {
        [[maybe_unused]] const ssize_t written = ::write(end_.get(), &event, sizeof(event));
    }

private:
    kernel::unique_fd end_;
};

// The producing end of a completion queue. Owned by the client's session, used by the worker.
class completion_ring
{
public:
    completion_ring(std::uint32_t number, kernel::mapping memory, std::uint32_t capacity,
                    std::shared_ptr<const client_pipe> channel, std::shared_ptr<const client_pipe> events)
        : number_{number}, memory_{std::move(memory)},
          ring_{session::completion_layout{capacity}.completions(memory_.get())}, channel_{std::move(channel)},
          events_{std::move(events)}
    {
    }

    // A completion that finds no room is lost, and the queue with it: the client has made it too small (IBTA 11.6.3.1).
    void push(const session::completion_entry &entry)
    {
        if (overrun_)
            return;
        if (!ring_.push(entry)) {
            overrun_ = true;
            events_->tell({session::event_kind::cq_overrun, number_});
            return;
        }
        const bool solicited = entry.status != 0 || (entry.flags & session::completion_solicited) != 0;
        if (channel_ && session::take_signal(ring_.header(), solicited))
            channel_->tell({session::event_kind{}, number_});
    }
    [[nodiscard]] bool overrun() const { return overrun_; }
    [[nodiscard]] std::uint32_t number() const { return number_; }

private:
    std::uint32_t number_;
    kernel::mapping memory_;
    session::ring_view<session::completion_entry> ring_;
    std::shared_ptr<const client_pipe> channel_; // null: nobody waits for completions
    std::shared_ptr<const client_pipe> events_;
    bool overrun_ = false;
};

// The requests of a send queue that have left their ring and are not complete: where their bytes are.
class posted_sends
{
public:
    posted_sends(const session::queue_pair_layout &layout, void *rings)
        : layout_{layout}, rings_{rings}, requests_(layout.send_capacity),
          pieces_(std::size_t{layout.send_capacity} * std::max(layout.most_pieces, 1U))
    {
    }

    struct taken {
        std::uint64_t bytes = 0;
        bool valid = false; // as many pieces and inline bytes as the queue pair allows
    };
    // Copies what the client wrote for the request at `position` out of the shared memory.
    [[nodiscard]] taken take(std::uint32_t position, const session::send_entry &entry);
    [[nodiscard]] std::uint64_t id(std::uint64_t position) const { return requests_[slot(position)].id; }
    [[nodiscard]] bool immediate(std::uint64_t position) const
    {
        return (requests_[slot(position)].flags & session::send_immediate) != 0;
    }
    // Bytes [offset, offset + to.size()) of the message in `slot`. False: a local protection error.
    [[nodiscard]] bool read(std::uint32_t slot, std::uint64_t offset, std::span<std::byte> to,
                            region_view &memory) const;

private:
    struct request {
        std::uint64_t id = 0;
        std::uint32_t flags = 0;
        std::uint32_t pieces = 0;
    };

    [[nodiscard]] std::uint32_t slot(std::uint64_t position) const
    {
        return static_cast<std::uint32_t>(position) & (layout_.send_capacity - 1);
    }
    [[nodiscard]] std::span<const session::gather_entry> pieces_of(std::uint32_t slot) const
    {
        return {&pieces_[std::size_t{slot} * layout_.most_pieces], requests_[slot].pieces};
    }

    session::queue_pair_layout layout_;
    void *rings_;
    std::vector<request> requests_;
    std::vector<session::gather_entry> pieces_;
};

struct worker_client;

// Everything of one queue pair that lives in the worker.
struct worker_qp {
    protocol::qpn number;
    worker_client *client = nullptr;
    std::uint32_t bell = 0;    // its bit in the client's bell page
    std::uint16_t life = 0;    // how often it had been reset
    protocol::qpn peer_number; // of the peer's queue pair
    worker_peer peer;          // its path group is shared by all QPs to the same T0 and outlives the QP
    mrc_ip address{};          // of the peer, in all packets of this QP: its common address, or its IPv4 address
    std::unique_ptr<region_view> memory;                          // what it may read and write; outlives `protocol`
    std::unique_ptr<protocol::congestion_control> own_congestion; // unless the peer's QPs share one
    protocol::congestion_control *congestion = nullptr;
    std::unique_ptr<protocol::queue_pair> protocol;
    session::ring_view<session::send_entry> sends; // their memory is the session's, and outlives the QP
    session::ring_view<session::receive_entry> receives;
    std::unique_ptr<posted_sends> posted;
    completion_ring *send_completions = nullptr;
    completion_ring *receive_completions = nullptr;
    std::shared_ptr<const client_pipe> events;
    std::uint32_t received = 0; // receive requests completed
    std::int64_t allowance = 0; // bytes that it may send in this turn
    std::size_t place = 0;      // in the worker's list
    bool active = false;        // in the client's list
    bool failure_told = false;  // as an event
    bool drain_told = false;
};

struct worker_client {
    std::uint32_t number = 0;
    kernel::mapping bell_memory;
    kernel::unique_fd doorbell;       // its own: who holds an eventfd can take its signals from all who wait for it
    std::vector<worker_qp *> by_bell; // null where there is none
    std::vector<worker_qp *> active;  // those with something to do; room for all
    std::size_t turn = 0;             // whose of them it is
    std::int64_t allowance = 0;       // bytes that the client may send in this turn
    bool listed = false;              // among the worker's active clients

    [[nodiscard]] session::bell_page &bells() { return *static_cast<session::bell_page *>(bell_memory.get()); }
};

} // namespace mrc::datapath
