// SPDX-License-Identifier: Apache-2.0
#include "datapath/sleeper.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/monotonic_clock.h"
#include "kernel/startup_error.h"

namespace mrc::datapath
{

using namespace std::chrono_literals;
using protocol::instant;

namespace
{

constexpr auto longest_sleep = 100ms;

} // namespace

sleeper::sleeper()
    : doorbells_{::epoll_create1(EPOLL_CLOEXEC)}, service_bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      status_fd_{::memfd_create("mrc-worker-status", MFD_CLOEXEC | MFD_ALLOW_SEALING)}
{
    if (!doorbells_ || !service_bell_ || !status_fd_ ||
        ::ftruncate(status_fd_.get(), sizeof(session::worker_status)) != 0)
        kernel::fail_startup("cannot create the worker's bells");
    void *page =
        ::mmap(nullptr, sizeof(session::worker_status), PROT_READ | PROT_WRITE, MAP_SHARED, status_fd_.get(), 0);
    if (page == MAP_FAILED)
        kernel::fail_startup("cannot map the worker's status page");
    status_ = kernel::mapping{page, sizeof(session::worker_status)};
    ::fcntl(status_fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
}

bool sleeper::hear(const kernel::unique_fd &doorbell) const
{
    epoll_event how{.events = EPOLLIN | EPOLLET, .data = {}};
    return ::epoll_ctl(doorbells_.get(), EPOLL_CTL_ADD, doorbell.get(), &how) == 0;
}

void sleeper::stop_hearing(const kernel::unique_fd &doorbell) const
{
    ::epoll_ctl(doorbells_.get(), EPOLL_CTL_DEL, doorbell.get(), nullptr);
}

void sleeper::wake() const
{
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(service_bell_.get(), &one, sizeof(one)); // EAGAIN: rung already
}

sleep_end sleeper::wait(instant deadline)
{
    poll_set_.push_back({.fd = doorbells_.get(), .events = POLLIN, .revents = 0});
    poll_set_.push_back({.fd = service_bell_.get(), .events = POLLIN, .revents = 0});
    const instant now = kernel::monotonic_now();
    const std::chrono::nanoseconds wait = std::clamp<instant>(deadline, now, now + longest_sleep) - now;
    const timespec limit{.tv_sec = 0, .tv_nsec = wait.count()};
    return ::ppoll(poll_set_.data(), poll_set_.size(), &limit, nullptr) > 0 ? sleep_end::woken : sleep_end::timed_out;
}

// Edge-triggered: each write is told once, and nothing need be read. More than fit wait for the next sleep's end.
void sleeper::clear_bells() const
{
    std::array<epoll_event, 64> rung{};
    ::epoll_wait(doorbells_.get(), rung.data(), static_cast<int>(rung.size()), 0);
    eventfd_t calls = 0;
    [[maybe_unused]] const int cleared = ::eventfd_read(service_bell_.get(), &calls); // EAGAIN: nobody woke it
}

} // namespace mrc::datapath
