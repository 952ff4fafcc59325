// SPDX-License-Identifier: Apache-2.0
// How the worker sleeps: until a packet, a doorbell or a deadline. A client looks at the status page after it has
// queued a request, the worker at the rings after it has set the page: whoever comes second sees the other.
#pragma once

#include <atomic>
#include <vector>

#include <poll.h>

#include "kernel/unique_fd.h"
#include "protocol/types.h"
#include "session/work_ring.h"

namespace mrc::datapath
{

enum class sleep_end {
    not_slept, // something waited
    woken,
    timed_out,
};

class sleeper
{
public:
    // Throws startup_error.
    sleeper();

    // From now on whatever is written to this eventfd ends the sleep. False with errno set when that cannot be.
    [[nodiscard]] bool hear(const kernel::unique_fd &doorbell) const;
    // A client may hold its doorbell longer than the worker.
    void stop_hearing(const kernel::unique_fd &doorbell) const;
    // Any thread: ends the sleep, or keeps the next one from beginning.
    void wake() const;
    // session::worker_status page, sealed memfd, for clients to map read-only.
    [[nodiscard]] int status_fd() const { return status_fd_.get(); }

    // Until `deadline` at the latest, but not longer than some 100 ms; not at all if `anything_waiting()` once the
    // clients can see that this end sleeps. `packets`: descriptors that become readable with packets.
    template <typename Waiting, typename Descriptors>
    sleep_end park_until(protocol::instant deadline, const Descriptors &packets, Waiting anything_waiting)
    {
        auto &sleeping = static_cast<session::worker_status *>(status_.get())->sleeping;
        std::atomic_ref{sleeping}.store(1, std::memory_order_seq_cst);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        sleep_end end = sleep_end::not_slept;
        if (!anything_waiting()) {
            poll_set_.clear();
            for (const auto &source : packets)
                poll_set_.push_back({.fd = source->fd(), .events = POLLIN, .revents = 0});
            end = wait(deadline);
        }
        std::atomic_ref{sleeping}.store(0, std::memory_order_relaxed);
        clear_bells();
        return end;
    }

private:
    [[nodiscard]] sleep_end wait(protocol::instant deadline);
    void clear_bells() const;

    kernel::unique_fd doorbells_;    // epoll of the clients' eventfds
    kernel::unique_fd service_bell_; // wake()
    kernel::unique_fd status_fd_;
    kernel::mapping status_;
    std::vector<pollfd> poll_set_;
};

} // namespace mrc::datapath
