// SPDX-License-Identifier: Apache-2.0
// How the worker sleeps: until a packet, a doorbell or a deadline. A client looks at the status page after it has
// queued a request, the worker at the rings after it has set the page: whoever comes second sees the other.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <span>
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
    ready,       // a descriptor of the caller's
    interrupted, // by a signal
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
    // clients can see that this end sleeps. `packets`: descriptors that become readable with packets; they stay open
    // until forget_sources(). One system call; none where something waits: a bell that rang meanwhile ends the next
    // sleep. `baton` is held, but for the sleep itself: what the others who take it find due earlier, wake_by() says.
    // `own`: descriptors of the caller's that end it, too, as ppoll() says what has happened to them.
    template <typename Waiting, typename Descriptors>
    sleep_end park_until(protocol::instant deadline, const Descriptors &packets, Waiting anything_waiting,
                         std::mutex &baton, std::span<pollfd> own = {})
    {
        auto &sleeping = static_cast<session::worker_status *>(status_.get())->sleeping;
        std::atomic_ref{sleeping}.store(1, std::memory_order_seq_cst);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        sleep_end end = sleep_end::not_slept;
        if (!anything_waiting()) {
            const auto listed = [this](const auto &source) {
                return std::ranges::find(sources_, source->fd()) != sources_.end();
            };
            for (const auto &source : packets)
                if (!listed(source))
                    add_source(source->fd());
            wakes_at_ = deadline;
            baton.unlock();
            end = own.empty() ? wait(deadline) : wait(deadline, own);
            baton.lock();
            wakes_at_ = awake;
        }
        std::atomic_ref{sleeping}.store(0, std::memory_order_relaxed);
        return end;
    }

    // With the baton: whether somebody sleeps, and that it wakes by then at the latest.
    [[nodiscard]] bool is_parked() const { return wakes_at_ != awake; }
    void wake_by(protocol::instant due);

    // Before any descriptor of packets is closed: its number may be another's afterwards.
    void forget_sources();

private:
    [[nodiscard]] sleep_end wait(protocol::instant deadline) const;
    [[nodiscard]] sleep_end wait(protocol::instant deadline, std::span<pollfd> own) const;
    void add_source(int fd);

    kernel::unique_fd waited_for_;   // epoll of both kinds of bells and of what packets come from
    kernel::unique_fd service_bell_; // wake()
    kernel::unique_fd alarm_;        // wake_by(): edge-triggered, as bells
    kernel::unique_fd status_fd_;
    kernel::mapping status_;
    std::vector<int> sources_; // of packets, in waited_for_
    static constexpr protocol::instant awake{};
    protocol::instant wakes_at_ = awake; // or earlier
};

} // namespace mrc::datapath
