// SPDX-License-Identifier: Apache-2.0
// How the worker sleeps: until a packet, a doorbell or a deadline. A client looks at the status page after it has
// queued a request, the worker at the rings after it has set the page: whoever comes second sees the other.
#include <algorithm>
#include <array>

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "datapath/worker.h"
#include "kernel/monotonic_clock.h"

namespace mrc::datapath
{

using namespace std::chrono_literals;
using protocol::instant;

namespace
{

constexpr auto retry_interval = 200us;
constexpr auto longest_sleep = 100ms;

} // namespace

bool worker::hear(const kernel::unique_fd &doorbell) const
{
    epoll_event how{.events = EPOLLIN | EPOLLET, .data = {}};
    return ::epoll_ctl(doorbells_.get(), EPOLL_CTL_ADD, doorbell.get(), &how) == 0;
}

instant worker::next_deadline() const
{
    instant first = protocol::never;
    for (const worker_client *client : active_clients_)
        for (const worker_qp *qp : client->active)
            first = std::min(first, qp->protocol->next_deadline());
    for (const probe_targets::group &group : targets_.groups())
        first = std::min(first, group.paths->next_deadline());
    for (const worker_peer &peer : talking_)
        first = std::min(first, next_deadline_of(peer));
    return std::min(first, batches_.next_deadline());
}

bool worker::anything_waiting() const
{
    const auto rings = [](const auto &client) { return client->bells().any(); };
    const auto can_go_on = [](const worker_client *client) {
        return std::ranges::any_of(client->active, [](const worker_qp *qp) { return can_take(*qp); });
    };
    return calls_.read_available() != 0 || std::ranges::any_of(clients_, rings) ||
           std::ranges::any_of(active_clients_, can_go_on);
}

void worker::sleep_until(instant deadline)
{
    auto &sleeping = static_cast<session::worker_status *>(status_.get())->sleeping;
    std::atomic_ref{sleeping}.store(1, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!anything_waiting()) {
        std::vector<pollfd> &fds = poll_set_;
        fds.clear();
        fds.push_back({.fd = doorbells_.get(), .events = POLLIN, .revents = 0});
        fds.push_back({.fd = service_bell_.get(), .events = POLLIN, .revents = 0});
        for (const auto &socket : *io_.sockets)
            fds.push_back({.fd = socket->fd(), .events = POLLIN, .revents = 0});
        // What an engine could not send yet goes with the next flush; nothing tells when it can.
        const bool unsent =
            std::ranges::any_of(distinct_engines_, [](const auto *engine) { return engine->queued() != 0; });
        const instant now = kernel::monotonic_now();
        if (unsent)
            deadline = std::min(deadline, now + retry_interval);
        const std::chrono::nanoseconds wait = std::clamp(deadline, now, now + longest_sleep) - now;
        const timespec limit{.tv_sec = 0, .tv_nsec = wait.count()};
        ++counters_.sleeps;
        ::ppoll(fds.data(), fds.size(), &limit, nullptr);
    }
    std::atomic_ref{sleeping}.store(0, std::memory_order_relaxed);
    // Edge-triggered: each write is told once, and nothing need be read. More than fit wait for the next sleep's end.
    std::array<epoll_event, 64> rung{};
    ::epoll_wait(doorbells_.get(), rung.data(), static_cast<int>(rung.size()), 0);
    eventfd_t calls = 0;
    [[maybe_unused]] const int cleared = ::eventfd_read(service_bell_.get(), &calls); // EAGAIN: nobody called
}

} // namespace mrc::datapath
