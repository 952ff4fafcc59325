// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "datapath/client_pipe.h"
#include "kernel/unique_fd.h"
#include "session/work_ring.h"

namespace mrc::datapath
{

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
            events_->notify({session::event_kind::cq_overrun, number_});
            return;
        }
        const bool solicited = entry.status != 0 || (entry.flags & session::completion_solicited) != 0;
        if (channel_ && session::take_signal(ring_.header(), solicited))
            channel_->notify({session::event_kind{}, number_});
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

} // namespace mrc::datapath
