// SPDX-License-Identifier: Apache-2.0
// How the worker sleeps: until a packet, a doorbell or a deadline. A client looks at the status page after it has
// queued a request, the worker at the rings after it has set the page: whoever comes second sees the other.
#include <algorithm>

#include <sys/uio.h>

#include "datapath/worker.h"

namespace mrc::datapath
{

using namespace std::chrono_literals;
using protocol::instant;

namespace
{

constexpr auto retry_interval = 200us;

} // namespace

instant worker::next_deadline() const
{
    instant first = protocol::never;
    for (const auto &qp : qps_)
        first = std::min(first, qp->protocol->next_deadline());
    for (const probe_targets::group &group : targets_.groups())
        first = std::min(first, group.paths->next_deadline());
    return first;
}

bool worker::anything_waiting() const
{
    return calls_.read_available() != 0 || std::ranges::any_of(qps_, [](const auto &qp) { return can_take(*qp); });
}

void worker::sleep_until(instant deadline)
{
    auto &sleeping = static_cast<worker_status *>(status_.get())->sleeping;
    std::atomic_ref{sleeping}.store(1, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!anything_waiting()) {
        std::vector<pollfd> &fds = poll_set_;
        fds.clear();
        fds.push_back({.fd = doorbell_.get(), .events = POLLIN, .revents = 0});
        fds.push_back({.fd = service_bell_.get(), .events = POLLIN, .revents = 0});
        for (const auto &socket : *io_.sockets)
            fds.push_back({.fd = socket->fd(), .events = POLLIN, .revents = 0});
        // What an engine could not send yet goes with the next flush; nothing tells when it can.
        const bool unsent =
            std::ranges::any_of(distinct_engines_, [](const auto *engine) { return engine->queued() != 0; });
        if (unsent)
            deadline = std::min(deadline, monotonic_now() + retry_interval);
        const auto wait = std::clamp<std::chrono::nanoseconds>(deadline - monotonic_now(), 0ns, 100ms);
        const timespec limit{.tv_sec = 0, .tv_nsec = wait.count()};
        ++counters_.sleeps;
        ::ppoll(fds.data(), fds.size(), &limit, nullptr);
    }
    std::atomic_ref{sleeping}.store(0, std::memory_order_relaxed);
    // Not by the descriptor's own flags: a client can clear O_NONBLOCK of the doorbell.
    for (const int bell : {doorbell_.get(), service_bell_.get()}) {
        std::uint64_t rings = 0;
        const iovec into{.iov_base = &rings, .iov_len = sizeof(rings)};
        [[maybe_unused]] const ssize_t cleared = ::preadv2(bell, &into, 1, -1, RWF_NOWAIT); // EAGAIN: nobody rang
    }
}

} // namespace mrc::datapath
